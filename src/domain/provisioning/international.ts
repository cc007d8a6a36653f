/** International labels: whether what stands behind `xn--` is one (RFC 3492, RFC 5891), as far as a name can be judged without tables. */

const base = 36;
const leastThreshold = 1;
const mostThreshold = 26;
const skew = 38;
const damp = 700;
const firstBias = 72;
const firstCode = 128;
const lastCode = 0x10ffff;

/** Whether a Punycode text, without a hyphen at its end, stands for letters, marks and digits in their usual form. */
export function isInternational(punycode: string): boolean {
  const decoded = decode(punycode.toLowerCase());
  if (decoded === undefined) return false;
  // A control or a sign stands in no name; nor is a name written in two ways.
  return (
    /^(?:[\p{L}\p{M}\p{N}\u00b7\u30fb-]|\u200c|\u200d)+$/u.test(decoded) &&
    !/^\p{M}/u.test(decoded) &&
    decoded === decoded.normalize('NFC') &&
    decoded === decoded.toLowerCase()
  );
}

/** RFC 3492, 6.2. Undefined: it is not Punycode. */
function decode(punycode: string): string | undefined {
  const delimiter = punycode.lastIndexOf('-');
  const codes = Array.from(punycode.slice(0, Math.max(0, delimiter)), (character) => character.charCodeAt(0));
  let code = firstCode;
  let bias = firstBias;
  let position = 0;
  for (let at = delimiter + 1; at < punycode.length;) {
    const before = position;
    let weight = 1;
    for (let step = base; ; step += base) {
      const digit = digitOf(punycode[at]);
      if (digit === undefined) return undefined;
      at += 1;
      position += digit * weight;
      const threshold = Math.min(mostThreshold, Math.max(leastThreshold, step - bias));
      if (digit < threshold) break;
      weight *= base - threshold;
      if (weight > lastCode * base) return undefined;
    }
    const count = codes.length + 1;
    bias = adapt(position - before, count, before === 0);
    code += Math.floor(position / count);
    position %= count;
    if (code > lastCode || (code >= 0xd800 && code <= 0xdfff)) return undefined;
    codes.splice(position, 0, code);
    position += 1;
  }
  return codes.map((one) => String.fromCodePoint(one)).join('');
}

function digitOf(character: string | undefined): number | undefined {
  const digit = Number.parseInt(character ?? '', base);
  if (Number.isNaN(digit)) return undefined;
  // In Punycode letters come first, then digits.
  return digit < 10 ? digit + 26 : digit - 10;
}

function adapt(delta: number, count: number, isFirst: boolean): number {
  let left = Math.floor(delta / (isFirst ? damp : 2));
  left += Math.floor(left / count);
  let step = 0;
  while (left > ((base - leastThreshold) * mostThreshold) / 2) {
    left = Math.floor(left / (base - leastThreshold));
    step += base;
  }
  return step + Math.floor(((base - leastThreshold + 1) * left) / (left + skew));
}

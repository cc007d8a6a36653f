/** Ports, bindings and pins as answers have them. */
import type { BindingRow, Pin, PortRow } from '../../src/domain/resolution/inventory.ts';

export function portBody({ module, listens, protocol, port, fixed }: PortRow) {
  return { module, listens, protocol: String(protocol), port, fixed };
}
export type PortBody = ReturnType<typeof portBody>;

export function bindingBody({ module, provision, provider }: BindingRow) {
  return { module, provision, provider: `${provider.node}/${provider.module}` };
}
export type BindingBody = ReturnType<typeof bindingBody>;

/** `NODE` or `NODE/MODULE`, as `mesh pin` takes it. */
export function providerOf({ provider }: Pick<Pin, 'provider'>): string {
  return provider.module === undefined ? provider.node : `${provider.node}/${provider.module}`;
}

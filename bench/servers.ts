/** A Temporal server that acts are measured on; without an address, the development server that the mesh raises itself. */
export type Server = { readonly name: string; readonly address?: string };

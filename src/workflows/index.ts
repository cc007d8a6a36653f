/** Every act the controller's workers run; what the workflow bundle is made from. */
export { compileRegistry } from './compile-registry.ts';
export { enrolNode } from './enrol-node.ts';
export { pushNodes } from './push-nodes.ts';
export { removeNode } from './remove-node.ts';
export { rotateCredential } from './rotate-credential.ts';

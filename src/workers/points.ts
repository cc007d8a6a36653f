/**
 * Named points before and after everything that a step does to the world, so that a test's controller can end itself at
 * each (A1.2). Nobody gives `reached` in production, and then nothing is wrapped.
 */
import { activityInfo } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';

/** Called at a point; `of` is the workflow it belongs to, or the node. What is done next waits until it resolves. */
export type Reached = (point: string, of: string) => Promise<void>;

/** `ports` with two points around each of their functions: `<step>/<family>.<function>/before` and `…/after`. All of them must answer promises. */
export function withPoints<Ports extends object>(family: string, ports: Ports, reached: Reached | undefined): Ports {
  if (reached === undefined) return ports;
  return new Proxy(ports, {
    get(target, name) {
      const does: unknown = Reflect.get(target, name);
      if (typeof does !== 'function') return does;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        const { step, workflowId } = stepNow();
        const point = `${step}/${family}.${String(name)}`;
        await reached(`${point}/before`, workflowId);
        const answer: unknown = await Reflect.apply(does, target, args);
        await reached(`${point}/after`, workflowId);
        return answer;
      };
    },
  });
}

/** The points `<step>/before` and `<step>/after`: its answer is there, and the act does not know it yet. */
export function pointsAroundSteps(reached: Reached): ActivityInboundCallsInterceptor {
  return {
    async execute(input, next) {
      const { step, workflowId } = stepNow();
      await reached(`${step}/before`, workflowId);
      const answer: unknown = await next(input);
      await reached(`${step}/after`, workflowId);
      return answer;
    },
  };
}

function stepNow(): { readonly step: string; readonly workflowId: string } {
  const { activityType, workflowExecution } = activityInfo();
  return { step: activityType, workflowId: workflowExecution?.workflowId ?? '' };
}

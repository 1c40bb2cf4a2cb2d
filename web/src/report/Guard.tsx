import { Component, type ComponentChild, type ComponentChildren } from "preact";

export interface GuardProps {
  children: ComponentChildren;
  /** What is shown in its place; it is given the problem. */
  instead: (problem: string) => ComponentChild;
  /** What the children are about: something else is tried anew. */
  of?: unknown;
}

interface State {
  problem: string | null;
  of: unknown;
}

/** Shows a message in place of what could not be drawn. */
export class Guard extends Component<GuardProps, State> {
  override state: State = { problem: null, of: this.props.of };

  static override getDerivedStateFromError(problem: unknown): Partial<State> {
    return { problem: problem instanceof Error ? problem.message : String(problem) };
  }

  static override getDerivedStateFromProps({ of }: GuardProps, state: State): State | null {
    return of === state.of ? null : { problem: null, of };
  }

  override render() {
    const { problem } = this.state;
    return problem === null ? <>{this.props.children}</> : <>{this.props.instead(problem)}</>;
  }
}

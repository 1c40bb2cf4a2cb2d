import { Component, type ComponentChild, type ComponentChildren } from "preact";

export interface GuardProps {
  children: ComponentChildren;
  /** Shown instead; it gets the problem. */
  instead: (problem: string) => ComponentChild;
  /** The subject of the children: a new subject is a new attempt. */
  of?: unknown;
}

interface State {
  problem: string | null;
  of: unknown;
}

/** Shows a message in place of something that could not be drawn. */
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

import type { LoadView, Piece } from "../document";
import { Badge } from "./Badge";
import { follow } from "./Contents";
import { Marked } from "./Facts";

export interface AnswerProps {
  load: LoadView;
  prefix: string;
  /** The target of links to the answer. */
  id: string | undefined;
}

/** The findings in sentences, and their validity. */
export function Answer({ load: { answer, validity }, prefix, id }: AnswerProps) {
  const warnings = validity.warnings.length;
  return (
    <div id={id} class={`answer ${validity.verdict}`}>
      {answer.map((sentence, i) => <p key={i}><Pieces sentence={sentence} /></p>)}
      <p class="verdict">
        <Badge verdict={validity.verdict} /> {validity.meaning}
        {warnings > 0 && (
          <>
            {" "}
            <a href={`#${prefix}validity`} onClick={(event) => follow(event, `${prefix}validity`)}>
              {warnings === 1 ? "1 warning" : `${warnings} warnings`}
            </a>
          </>
        )}
      </p>
    </div>
  );
}

/** A sentence with the names of arms highlighted. */
export function Pieces({ sentence }: { sentence: Piece[] }) {
  return <>{sentence.map((piece, i) => ("arm" in piece ? <b key={i} class="arm">{piece.arm}</b> : <Marked key={i} text={piece.text} />))}</>;
}

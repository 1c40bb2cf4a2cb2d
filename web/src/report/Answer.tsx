import type { LoadView, Piece } from "../document";
import { Badge } from "./Badge";
import { follow } from "./Contents";
import { Marked } from "./Facts";

export interface AnswerProps {
  load: LoadView;
  prefix: string;
  /** Where a link to the answer leads. */
  id: string | undefined;
}

/** What was found, in sentences, and whether it is to be believed. */
export function Answer({ load: { answer, validity }, prefix, id }: AnswerProps) {
  const reasons = validity.warnings.length;
  return (
    <div id={id} class={`answer ${validity.verdict}`}>
      {answer.map((sentence, i) => <p key={i}><Pieces sentence={sentence} /></p>)}
      <p class="verdict">
        <Badge verdict={validity.verdict} /> {validity.meaning}
        {reasons > 0 && (
          <>
            {" "}
            <a href={`#${prefix}validity`} onClick={(event) => follow(event, `${prefix}validity`)}>
              {reasons === 1 ? "The reason" : `The ${reasons} reasons`}
            </a>
          </>
        )}
      </p>
    </div>
  );
}

/** A sentence with the names of arms set apart. */
export function Pieces({ sentence }: { sentence: Piece[] }) {
  return <>{sentence.map((piece, i) => ("arm" in piece ? <b key={i} class="arm">{piece.arm}</b> : <Marked key={i} text={piece.text} />))}</>;
}

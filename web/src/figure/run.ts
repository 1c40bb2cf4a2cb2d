import { createContext } from "preact";

/** The run whose pictures these are: the beginning of the names of saved files. */
export const RunName = createContext("windage");

/** A word across pictures whose figures are not to be used ("void"); null without. */
export const Stamp = createContext<string | null>(null);

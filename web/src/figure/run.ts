import { createContext } from "preact";

/** The run of the pictures: the first part of the names of saved files. */
export const RunName = createContext("windage");

/** A stamp across pictures whose figures must not be used ("void"); null for none. */
export const Stamp = createContext<string | null>(null);

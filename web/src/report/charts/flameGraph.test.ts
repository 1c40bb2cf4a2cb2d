import { describe, expect, it } from "vitest";

import { isAllowedAttribute, isAllowedElement, isAllowedStyle } from "./flameGraph";

describe("what may stay in a flame graph", () => {
  it.each([
    ["g", true],
    ["linearGradient", true],
    ["title", true],
    ["script", false],
    ["SCRIPT", false],
    ["foreignObject", false],
    ["image", false],
    ["a", false],
    ["use", false],
    ["animate", false],
  ])("element %s: %s", (name, expected) => expect(isAllowedElement(name)).toBe(expected));

  it.each([
    ["x", "10%", true, "a place"],
    ["fill", "url(#background)", true, "of the document itself"],
    ["fg:w", "3142", true, "inferno's own"],
    ["onclick", "zoom(this)", false, "runs"],
    ["ONLOAD", "init()", false, "runs"],
    ["xlink:href", "#frame", true, "within the document"],
    ["xlink:href", "https://example.org/x.svg", false, "fetches"],
    ["href", "javascript:alert(1)", false, "runs"],
    ["fill", "url(https://example.org/p.svg#x)", false, "fetches"],
    ["style", "fill:url( 'http://example.org' )", false, "fetches"],
    ["style", "fill:u\\72l(http://example.org)", false, "hides that it fetches"],
    ["style", "background:image-set('http://example.org/a.png' 1x)", false, "fetches"],
    ["style", "background:src('http://example.org/a.png')", false, "fetches"],
    ["style", "fill:url(#a);stroke:url(//b)", false, "fetches with the second"],
  ])("attribute %s=%s: %s, it is %s", (name, value, expected) => expect(isAllowedAttribute(name, value)).toBe(expected));

  it.each([
    ["text { font-family:monospace }", true],
    ["rect { fill:url(#background) }", true],
    ["@import 'x.css';", false],
    ["rect { background:url(https://example.org) }", false],
  ])("style %s: %s", (rules, expected) => expect(isAllowedStyle(rules)).toBe(expected));
});

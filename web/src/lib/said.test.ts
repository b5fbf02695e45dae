import { describe, expect, it } from "vitest";
import { said } from "../i18n/ru";
import { teller } from "./said";

const tell = teller(said, "ru", (word) => `<${word}>`);

describe("a sentence of the server", () => {
  it("is told in the language of the reader, with its numbers", () => {
    expect(tell("its worker was silent for 17 s")).toBe("исполнитель молчал 17 с");
    expect(tell("1,024 of 2,000 items failed")).toMatch(/^1\s024 из 2\s000 элементов с ошибкой$/);
    expect(tell("killed its worker 3 times (its worker's process 7 is gone)")).toBe(
      "3 раза погубило исполнителя (процесса исполнителя 7 больше нет)",
    );
    expect(tell("is running")).toBe("сейчас «<running>»");
  });

  it("keeps what it does not know, word for word", () => {
    expect(tell("the source is moved; nothing to do")).toBe("the source is moved; делать нечего");
    expect(tell("<b>{n}</b> $1 (a|b)")).toBe("<b>{n}</b> $1 (a|b)");
  });
});

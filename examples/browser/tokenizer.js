// Texts to ids as AlbertTokenizer and WordPieceTokenizer in Python make them, of the tokenizer.json and the export.json
// of an export.

import { Normalizer, PrecompiledNormalizer, Tokenizer } from "@huggingface/tokenizers";

const MASK = "[MASK]";
const SPACE = "▁";
// Pieces without a space before them: special ones, signs, and the ideographs of basic_words.py.
const JOINS =
  /^\[(PAD|CLS|SEP|MASK)\]$|^[.,;:!?)\]}%\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]$/u;

/** The vocabulary of an export. pieces: each piece by its id, as Python's tokenizer shows it. */
export class ExportTokenizer {
  #file;
  #about;
  #libraries = new Map();

  /**
   * @param {object} file what tokenizer.json says.
   * @param {object} about what export.json says.
   */
  constructor(file, about) {
    this.#file = file;
    this.#about = about;
    this.pieces = isWordPiece(file) ? shownWordPieces(file.model) : file.model.vocab.map(([piece]) => piece);
    // Made beforehand, so that the first text waits no longer than others.
    this.#library(about.head === "pretraining");
  }

  /** The ids of a text, without [CLS] and [SEP], as by `encode` of Python; "[MASK]" is ordinary text. */
  encode(text) {
    return this.#ids(text.toWellFormed(), false);
  }

  /** As `encode`, but "[MASK]" is the mask, together with a space before it: `encode_with_masks` of Python. */
  encodeWithMasks(text) {
    return this.#ids(this.aroundMasks(text.toWellFormed()).join(MASK), true);
  }

  /** The parts of a text around its masks; a model of lower-cased text takes "[mask]" for one too. */
  aroundMasks(text) {
    return text.split(this.#about.cleaning.do_lower_case ? /\[mask\]/iu : MASK);
  }

  #library(withMasks) {
    if (!this.#libraries.has(withMasks)) this.#libraries.set(withMasks, libraryOf(this.#file, withMasks ? [MASK] : []));
    return this.#libraries.get(withMasks);
  }

  #ids(text, withMasks) {
    let ids;
    try {
      ({ ids } = this.#library(withMasks).encode(text, { add_special_tokens: false }));
    } catch (error) {
      // The library hands on the pieces of a word as arguments of a call, of which there is room for some 100,000.
      if (error instanceof RangeError) throw new Error("The text has a word of more than 100,000 pieces. Shorten it.");
      throw error;
    }
    // The digit-comma rule of the official tokenizer: "1995," is a piece of the vocabulary, and becomes two.
    return ids.flatMap((id) => this.#about.piece_replacements[id] ?? [id]);
  }
}

// tokenizer.json is for programs that look for all special pieces in a text, and has patterns that come near the
// digit-comma rule. Here the ids are to be AlbertTokenizer's: the rule itself is applied to them, and only the pieces
// in `found` are found in a text; a NUL before the others' names, which no cleaned text has, keeps them out of reach.
// Words that WordPiece cuts never hold a whole name, as its brackets are words of their own.
const libraryOf = (file, found) => {
  const added = file.added_tokens.filter(({ content }) => found.includes(content));
  if (isWordPiece(file)) return new Tokenizer({ ...file, added_tokens: added, post_processor: null }, {});
  const others = file.added_tokens.filter(({ content }) => !found.includes(content));
  const unreachable = new Set(others.map(({ content }) => content));
  const vocab = file.model.vocab.map(([piece, score]) => [unreachable.has(piece) ? `\0${piece}` : piece, score]);
  const [words] = file.pre_tokenizer.pretokenizers;
  const model = { ...file.model, vocab };
  const own = { added_tokens: added, pre_tokenizer: words, post_processor: null, model };
  const tokenizer = new Tokenizer({ ...file, ...own }, {});
  const steps = tokenizer.normalizer.normalizers;
  steps.forEach((step, at) => {
    if (step instanceof PrecompiledNormalizer) steps[at] = new CharacterRules(step.config);
  });
  return tokenizer;
};

const isWordPiece = (file) => file.model.type === "WordPiece";

// "##ing" is shown as "ing", and a word as "▁word", but for signs and ideographs.
const shownWordPieces = ({ vocab, continuing_subword_prefix: inside }) => {
  const pieces = [];
  for (const [piece, id] of Object.entries(vocab)) {
    if (piece.length > inside.length && piece.startsWith(inside)) pieces[id] = piece.slice(inside.length);
    else pieces[id] = JOINS.test(piece) ? piece : SPACE + piece;
  }
  return pieces;
};

/**
 * The vocabulary's own rules for characters, for which the library has a list that fits most vocabularies, not all.
 *
 * precompiled_charsmap of sentencepiece (normalizer.cc): the size of a trie in bytes, the trie as darts-clone lays it
 * out, then what takes the place of its keys, each with a NUL after it. The longest key that fits is replaced.
 */
class CharacterRules extends Normalizer {
  #units;
  #replacements;

  constructor(config) {
    super(config);
    const bytes = Uint8Array.from(atob(config.precompiled_charsmap), (character) => character.charCodeAt(0));
    const numbers = new DataView(bytes.buffer);
    const size = numbers.getUint32(0, true);
    this.#units = Uint32Array.from({ length: size / 4 }, (_, at) => numbers.getUint32(4 + 4 * at, true));
    this.#replacements = bytes.subarray(4 + size);
  }

  normalize(text) {
    const bytes = new TextEncoder().encode(text);
    const written = [];
    for (let at = 0; at < bytes.length;) {
      const { length, place } = this.#longest(bytes, at);
      if (length) {
        written.push(...this.#replacements.subarray(place, this.#replacements.indexOf(0, place)));
        at += length;
      } else {
        // A whole character: the bytes of UTF-8 that go on with one begin with the bits 10.
        do written.push(bytes[at++]);
        while ((bytes[at] & 0xc0) === 0x80);
      }
    }
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(written));
  }

  #longest(bytes, start) {
    const children = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);
    const found = { length: 0, place: 0 };
    let node = children(this.#units[0]);
    for (let at = start; at < bytes.length; at++) {
      node ^= bytes[at];
      const unit = this.#units[node];
      if ((unit & 0x800000ff) !== bytes[at]) break;
      node ^= children(unit);
      if (unit & 0x100) Object.assign(found, { length: at + 1 - start, place: this.#units[node] & 0x7fffffff });
    }
    return found;
  }
}

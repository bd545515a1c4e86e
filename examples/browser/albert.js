// A model that `export_model --format=onnx` wrote, in a browser: opened, and asked with texts, which stay in the page.

import * as ort from "onnxruntime-web/wasm";

import { ExportTokenizer } from "./tokenizer.js";

const FORMAT = "albert_tf export";
const VECTORS = "embedding";
const HEADS = ["pretraining", "classification", "multi_label", VECTORS];
const TOKENIZER = "tokenizer.json";

/**
 * Opens an export, once each of its files is known to be the one that was written.
 *
 * @param {string} folder where it lies, seen from the page, such as "model"; no other server's.
 * @returns {Promise<Model>}
 * @throws {Error} in one line: a file is missing or damaged, or the model is not one that can be asked here.
 */
export const openModel = async (folder) => {
  const place = new URL(`${folder.replace(/\/+$/, "")}/`, document.baseURI);
  if (place.origin !== location.origin) throw new Error(`${folder} is on another server; copy the export to this one`);
  const about = parsed(await fetched(place, "export.json", folder), `${folder}/export.json`);
  checkExport(about, folder);
  const names = [about.model_file, TOKENIZER];
  const [model, tokenizer] = await Promise.all(names.map((name) => checked(place, name, folder, about.files[name])));
  let session;
  try {
    session = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
  } catch (error) {
    throw new Error(`${folder}/${about.model_file} cannot be loaded: ${firstLine(error)}`);
  }
  const bytes = names.reduce((sum, name) => sum + about.files[name].bytes, 0);
  return new Model(about, new ExportTokenizer(parsed(tokenizer, `${folder}/${TOKENIZER}`), about), session, bytes);
};

/**
 * An export that is open.
 *
 * about: everything that its export.json says. tokenizer: an ExportTokenizer. bytes: how large its two files are.
 * fills, embeds: whether it fills in masks, or makes vectors of texts; otherwise it classifies. takesPair, needsPair:
 * whether a second text may be given, and whether one must be.
 */
class Model {
  #session;
  #vectors = new Map();

  constructor(about, tokenizer, session, bytes) {
    this.about = about;
    this.bytes = bytes;
    this.fills = about.head === "pretraining";
    this.embeds = about.head === VECTORS;
    const second = about.task?.input_fields?.[1];
    this.takesPair = second !== undefined;
    this.needsPair = this.takesPair && !second.endsWith("?");
    this.#session = session;
    this.tokenizer = tokenizer;
  }

  /**
   * The likeliest pieces for each mask of a text, as FillMask in Python gives them.
   *
   * @param {string} text with one "[MASK]" or more.
   * @param {number} topK how many pieces for a mask.
   * @returns {Promise<{piece: string, probability: number}[][]>} for each mask its pieces, likeliest first.
   */
  async fillMask(text, topK = 5) {
    const inputs = this.#packed(this.tokenizer.encodeWithMasks(text));
    const positions = [...inputs.ids.keys()].filter((at) => inputs.ids[at] === this.about.special_ids.mask);
    if (!positions.length) throw new Error("Write [MASK] where a word is to be filled in.");
    const rows = await this.#run(inputs, "masked_lm_logits", positions);
    return rows.map((logits) => {
      const probabilities = softmax(logits);
      const ids = [...probabilities.keys()].sort(
        (one, other) => probabilities[other] - probabilities[one] || one - other,
      );
      return ids.slice(0, topK).map((id) => ({ piece: this.tokenizer.pieces[id], probability: probabilities[id] }));
    });
  }

  /**
   * The probabilities of the classes of a text or a pair, as Predictor in Python gives them.
   *
   * @param {string} text
   * @param {string} second the second text, for a model that takes one.
   * @returns {Promise<{label: string, probability: number}[]>} in the order of the classes.
   */
  async classify(text, second = "") {
    if (second && !this.takesPair) throw new Error("This model takes one text; leave the second one out.");
    const hasPair = this.needsPair || (this.takesPair && second !== "");
    const inputs = this.#packed(this.tokenizer.encode(text), hasPair ? this.tokenizer.encode(second) : null);
    const [logits] = await this.#run(inputs, "logits");
    const probabilities = this.about.head === "multi_label" ? logits.map(sigmoid) : softmax(logits);
    return probabilities.map((probability, at) => ({ label: this.about.labels[at] ?? `LABEL_${at}`, probability }));
  }

  /**
   * The vector of a text, as embed_texts in Python gives it.
   *
   * @param {string} text
   * @returns {Promise<number[]>}
   */
  async embed(text) {
    const [vector] = await this.#run(this.#packed(this.tokenizer.encode(text)), VECTORS);
    return vector;
  }

  /**
   * The texts that mean what a text does, by the cosine of their vectors. Vectors are kept for the next question.
   *
   * @param {string} text
   * @param {string[]} texts among which to look.
   * @returns {Promise<{text: string, similarity: number}[]>} nearest first, of equal ones the first first.
   */
  async nearest(text, texts) {
    const wanted = await this.embed(text);
    const kept = new Map();
    for (const one of texts) kept.set(one, kept.get(one) ?? this.#vectors.get(one) ?? (await this.embed(one)));
    this.#vectors = kept;
    const found = texts.map((one) => ({ text: one, similarity: cosine(wanted, kept.get(one)) }));
    return found.sort((one, other) => other.similarity - one.similarity);
  }

  // [CLS] first [SEP] second [SEP], with segment 1 from the second text on.
  #packed(first, second = null) {
    const { cls, sep } = this.about.special_ids;
    const start = [cls, ...first, sep];
    const end = second === null ? [] : [...second, sep];
    const ids = [...start, ...end];
    const most = this.about.max_seq_length;
    if (ids.length > most) {
      throw new Error(
        `The text is too long: ${ids.length} pieces with [CLS] and [SEP], and the model takes ${most}. Shorten it.`,
      );
    }
    return { ids, segments: [...start.map(() => 0), ...end.map(() => 1)] };
  }

  // The rows [P, V] or [1, C] of an output, for the only sequence.
  async #run({ ids, segments }, output, positions = null) {
    const { fixed_length: isFixed, max_seq_length: most, special_ids: special } = this.about;
    // A file for batches of a fixed number gets as many copies.
    const copies = this.about.batch_size ?? 1;
    const tensor = (row, length, filler = 0) => {
      const whole = [...row, ...Array(length - row.length).fill(filler)];
      return new ort.Tensor("int32", Int32Array.from(Array(copies).fill(whole).flat()), [copies, length]);
    };
    const length = isFixed ? most : ids.length;
    const ones = ids.map(() => 1);
    const inputs = {
      input_ids: tensor(ids, length, special.pad),
      input_mask: tensor(ones, length),
      segment_ids: tensor(segments, length),
    };
    if (positions) inputs.masked_lm_positions = tensor(positions, positions.length);
    let outputs;
    try {
      outputs = await this.#session.run(inputs, [output]);
    } catch (error) {
      throw new Error(`The model failed: ${firstLine(error)}`);
    }
    const { data, dims } = outputs[output];
    const width = dims.at(-1);
    const rows = Array.from({ length: positions?.length ?? 1 }, (_, at) => [
      ...data.slice(at * width, (at + 1) * width),
    ]);
    if (!rows.flat().every(Number.isFinite)) throw new Error("The model's outputs are not finite numbers.");
    return rows;
  }
}

const checkExport = (about, folder) => {
  if (about?.format !== FORMAT)
    throw new Error(`${folder}/export.json is not of export_model: name a folder that it wrote`);
  if (about.model_format !== "onnx") {
    const format = about.model_format ?? "saved_model";
    throw new Error(`${folder} is an export as ${format}; a browser runs export_model --format=onnx`);
  }
  if (!HEADS.includes(about.head)) {
    throw new Error(`${folder} has the head ${about.head}; this page asks those of ${HEADS.join(", ")}`);
  }
  if (!about.files?.[TOKENIZER]) {
    throw new Error(
      `${folder} was exported without ${TOKENIZER}; export it again, and read what export_model says of it`,
    );
  }
};

const fetched = async (place, name, folder) => {
  let response;
  try {
    // "no-cache" asks the server whether a file has changed: one export may have taken the place of another.
    response = await fetch(new URL(name, place), { cache: "no-cache" });
    if (response.ok) return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new Error(`${folder}/${name} cannot be fetched: ${firstLine(error)}`);
  }
  const reason =
    response.status === 404 ? "is missing" : `cannot be fetched (${response.status} ${response.statusText})`;
  throw new Error(`${folder}/${name} ${reason}: put the folder that export_model wrote beside this page, as a whole`);
};

const checked = async (place, name, folder, wanted) => {
  const contents = await fetched(place, name, folder);
  // Browsers have digests on 127.0.0.1 and over HTTPS.
  const digest = await globalThis.crypto.subtle?.digest("SHA-256", contents);
  const isRight = contents.length === wanted.bytes && (!digest || hexadecimal(digest) === wanted.sha256);
  if (isRight) return contents;
  throw new Error(
    `${folder}/${name} is damaged, or of a different export than export.json: copy the folder as a whole`,
  );
};

const parsed = (contents, path) => {
  try {
    return JSON.parse(new TextDecoder().decode(contents));
  } catch {
    throw new Error(`${path} is no JSON: name a folder that export_model wrote`);
  }
};

const hexadecimal = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const firstLine = (error) => String(error?.message ?? error).split("\n")[0];

const dot = (one, other) => one.reduce((sum, value, at) => sum + value * other[at], 0);

const cosine = (one, other) => dot(one, other) / (Math.sqrt(dot(one, one) * dot(other, other)) || 1);

const sigmoid = (value) => 0.5 * (1 + Math.tanh(0.5 * value));

const softmax = (logits) => {
  const highest = logits.reduce((one, other) => Math.max(one, other));
  const powers = logits.map((value) => Math.exp(value - highest));
  const sum = powers.reduce((one, other) => one + other);
  return powers.map((power) => power / sum);
};

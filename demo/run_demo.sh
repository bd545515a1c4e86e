#!/usr/bin/env bash
# From text to a trained, evaluated, exported ALBERT, with the public commands as a user types them.
#
# Usage: make demo              everything: about 10 minutes on two cores, into demo_output/full
#        make demo DEMO=short   the same stages on a little text, to see that they work: 3 minutes, demo_output/short
#        DEMO_STEPS=N trains for N steps instead.
#
# A stage whose result is there is passed over, and training goes on from its last checkpoint, so an interrupted demo
# is continued by the same command. Delete demo_output to start afresh.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${DEMO:-full}
case $kind in
  full) corpus_flags=(); length=(planned) ;;
  short) corpus_flags=(--max_megabytes=2); length=(--num_train_steps=60) ;;
  *) echo "DEMO must be full or short; received '$kind'" >&2; exit 2 ;;
esac
[ -z "${DEMO_STEPS:-}" ] || length=(--num_train_steps="$DEMO_STEPS")
out=${DEMO_OUTPUT:-demo_output/$kind}
config_value() { python -c 'import json, sys; print(json.load(open("configs/models/albert_small.json"))[sys.argv[1]])' "$1"; }
vocab_size=$(config_value vocab_size) embedding_size=$(config_value embedding_size)
mkdir -p "$out"

# The full demo trains in what is left of ten minutes, counted from `make`. What comes after the training takes about
# half as long again as what came before it, which tells how fast the machine is; training itself takes up to a
# minute more than it plans for its steps. The minutes are kept, for a demo continued.
plan_minutes() {
  local now total=600
  now=$(date +%s)
  [ -e "$out/train_minutes" ] || awk -v left=$((total - (now - ${DEMO_STARTED:-$now}) - 3 * SECONDS / 2 - 45)) \
    'BEGIN { minutes = left / 60; printf "%.1f\n", minutes < 3 ? 3 : minutes }' > "$out/train_minutes"
  length=(--train_minutes="$(cat "$out/train_minutes")")
}

# stage TITLE RESULT: prints the heading; fails, so that the stage is passed over, if its result is there.
number=0
stage() {
  number=$((number + 1))
  printf '\n== %d. %s  [%d:%02d] ==\n' "$number" "$1" $((SECONDS / 60)) $((SECONDS % 60))
  if [ -n "$2" ] && [ -e "$2" ]; then
    echo "   $2 is there already"
    return 1
  fi
}
# show COMMAND: prints the command as it would be typed; run COMMAND: runs it too.
show() {
  printf '$'
  for word in "$@"; do
    case $word in
      *[!A-Za-z0-9_./=:@-]*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
}
run() {
  show "$@"
  "$@"
}

if stage "A corpus: docstrings, comments and documentation of the installed packages" "$out/documents.jsonl"; then
  run collect_docstrings --output_file="$out/documents.jsonl" --heldout_output_file="$out/heldout.jsonl" \
    --heldout_every=10 --overwrite \
    ${corpus_flags[@]+"${corpus_flags[@]}"}
fi
if stage "Sentences, one a line, a blank line between documents" "$out/heldout.txt"; then
  run split_sentences --input_file="$out/documents.jsonl" --output_file="$out/documents.txt" --overwrite
  run split_sentences --input_file="$out/heldout.jsonl" --output_file="$out/heldout.txt" --overwrite
fi
if stage "A vocabulary of $vocab_size pieces" "$out/vocabulary.model"; then
  run train_vocabulary --input_file="$out/documents.txt" --model_prefix="$out/vocabulary" --vocab_size="$vocab_size" \
    --overwrite
fi
record_flags=(--spm_model_file="$out/vocabulary.model" --max_seq_length=128 --max_predictions_per_seq=20 --ngram=1)
if stage "Training records: pairs of segments; held-out ones, with words masked" "$out/heldout.tfrecord.manifest.json"; then
  run create_pretraining_data --input_file="$out/documents.txt" --output_file="$out/train.tfrecord@4" \
    "${record_flags[@]}" --masking=dynamic --short_seq_prob=0
  run create_pretraining_data --input_file="$out/heldout.txt" --output_file="$out/heldout.tfrecord" \
    "${record_flags[@]}" --dupe_factor=1 --random_seed=54321
fi
if stage "Which words keep the same company: counted, for the model to start from" "$out/embeddings.npz"; then
  run count_embeddings --input_file="$out/documents.txt" --spm_model_file="$out/vocabulary.model" \
    --embedding_size="$embedding_size" --output_file="$out/embeddings.npz"
fi
[ "${length[0]}" != planned ] || plan_minutes
stage "Pre-training" ""
run run_pretraining --flagfile=configs/pretraining/demo.flags --input_file="$out/train.tfrecord-*" \
  --eval_input_file="$out/heldout.tfrecord" --init_embeddings="$out/embeddings.npz" --output_dir="$out/model" "${length[@]}"
stage "Evaluation on documents that were not trained on" ""
run run_evaluation --format=table --output_dir="$out/model" --input_file="$out/heldout.tfrecord" --output_file="$out/evaluation.json" \
  --overwrite
stage "The curves" ""
constant=$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["most_frequent_piece_accuracy"])' "$out/evaluation.json")
run plot_training --output_dir="$out/model" --output_file="$out/training.png" --title="albert_small on docstrings" \
  --baseline="a coin, for the order=0.5" --baseline="always the most frequent piece=$constant" --overwrite
if stage "A SavedModel that takes text" "$out/saved_model/saved_model.pb"; then
  run export_saved_model --init_checkpoint="$out/model" --output_dir="$out/saved_model"
fi
stage "Masked words filled in" ""
run fill_mask --format=table --model="$out/saved_model" \
  "This function returns a [MASK] of strings." \
  "If the file does not [MASK], an error is raised." \
  "The default value of this argument is [MASK]."
stage "Two segments: in order, or swapped?" ""
first="Returns the index of the first match." second="If there is none, it returns -1 instead."
run fill_mask --format=table --model="$out/saved_model" --first="$first" --second="$second"
run fill_mask --format=table --model="$out/saved_model" --first="$second" --second="$first"
packages="$out/packages"
if stage "A task from the same text: which package is a sentence from?" "$packages/samples.tsv"; then
  run python demo/make_package_task.py --input_file="$out/documents.jsonl" --heldout_file="$out/heldout.jsonl" \
    --output_dir="$packages" --overwrite
fi
task_steps=150
[ "$kind" = full ] || task_steps=30
# One checkpoint, at the end: none is chosen by its score on the texts that it is compared on.
task_flags=(--task_name=classification --data_dir="$packages" --do_train --do_eval --max_seq_length=64
  --learning_rate=5e-4 --num_train_steps="$task_steps" --save_checkpoints_steps="$task_steps")
# Its result is that of the next stage: either of the two may be done without the other.
scores=$out/package_scores.json
if stage "Fine-tuning on it, and beside it the same model from random weights" "$scores"; then
  random=(run_finetuning "${task_flags[@]}" --albert_config_file="$out/model/albert_config.json"
    --spm_model_file="$out/vocabulary.model" --output_dir="$out/package_random")
  "${random[@]}" > "$out/package_random.log" 2>&1 &
  beside=$!
  trap 'kill "$beside" 2> /dev/null || true' EXIT
  run run_finetuning "${task_flags[@]}" --init_checkpoint="$out/model" --output_dir="$out/package_model"
  wait "$beside" || { cat "$out/package_random.log" >&2; exit 1; }
  show "${random[@]}"
  echo "   was beside it; $out/package_random.log has what it said"
  trap - EXIT
fi
stage "What it knows, beside a bag of words" ""
run python demo/compare_with_bag_of_words.py --data_dir="$packages" --run="pre-trained=$out/package_model" \
  --run="random weights=$out/package_random" --output_file="$scores" --overwrite
stage "Sentences that it never saw: the package, the text, the answer" ""
run predict --format=table --output_dir="$out/package_model" --input_file="$packages/samples.tsv"
printf '\nDone in %d:%02d. The model is in %s, the curves in %s.\n' \
  $((SECONDS / 60)) $((SECONDS % 60)) "$out/saved_model" "$out/training.png"

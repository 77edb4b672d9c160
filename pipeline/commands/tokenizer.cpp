// flowtrain tokenizer train|encode|decode|show

#include <unistd.h>

#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/commands/flags.h"
#include "sampling/core/cpus.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/tokens/learn/train.h"
#include "sampling/tokens/tokenizer.h"

namespace flowtrain::commands {
namespace {

namespace fs = std::filesystem;

/// The arguments of the subcommands.
struct TokenizerWords {
  std::vector<fs::path> files;
  fs::path out;
  std::string tokenizer, pattern;
  std::optional<std::string> text;  ///< to encode; none: standard input
  std::vector<std::string> ids;     ///< to decode; none: standard input
  TokenizerTraining training;
  bool add_special = false, special_text = false;
};

void add_train(CLI::App& app, TokenizerWords& given) {
  auto* command = app.add_subcommand(
      "train", "learn a vocabulary for byte-pair encoding from files, and write it as a tokenizer.json");
  add_path(*command, "FILE", given.files, "text files to learn from")->required();
  auto& training = given.training;
  training.threads = usable_cores();
  command->add_option("--vocab", training.vocabulary, "learn this many tokens: 256 bytes, special tokens and merges")
      ->required()
      ->check(CLI::Range(256, 1 << 20));
  add_path(*command, "--out", given.out, "write this file")->required();
  command->add_option("--pattern", training.pattern, "split texts into words by the pattern of this vocabulary")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(pattern_names), std::end(pattern_names))))
      ->capture_default_str();
  command->add_option("--special", training.special, "add a special token, such as <|endoftext|>; repeatable")
      ->allow_extra_args(false);
  command->add_option("--least-count", training.least_count, "merge only pairs that occur so often")
      ->check(counts_from_one("pairs"))
      ->capture_default_str();
  command->add_option("--threads", training.threads, "count words with this many threads; default: one for each CPU")
      ->check(CLI::Range(1, 1024));
}

CLI::App* add_use(CLI::App& app, const char* name, const char* help, TokenizerWords& given) {
  auto* command = app.add_subcommand(name, help);
  add_path(*command, "TOKENIZER", given.tokenizer,
           "a tokenizer.json, a rank file (.tiktoken), a SentencePiece .model, or bytes")
      ->required();
  command->add_option("--pattern", given.pattern, "name the pattern of a rank file")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(pattern_names), std::end(pattern_names))));
  return command;
}

std::string standard_input() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

int train_tokenizer(TokenizerWords& given) {
  if (const auto ending = given.out.extension(); ending == ".tiktoken" || ending == ".model")
    throw UserError(ExitCode::usage,
                    concat("--out ", given.out.string(), ": the form that is written is tokenizer.json"),
                    concat("name it ", given.out.stem().string(), ".json"));
  const LearnedPairs pairs = learn_pairs(given.files, given.training);
  write_file_atomically(given.out, tokenizer_json(pairs));
  std::cout << given.out.string() << ": " << pairs.special.size() + 256 + pairs.merges.size() << " tokens, "
            << pairs.merges.size() << " of them merges\n";
  return 0;
}

int decode_ids(const Tokenizer& tokenizer, const TokenizerWords& given) {
  std::vector<std::uint32_t> ids;
  std::istringstream words(given.ids.empty() ? standard_input() : join(given.ids, " "));
  for (std::string word; words >> word;) {
    const auto id = parse_number<std::uint32_t>(trimmed(word, ","));
    if (!id || *id >= tokenizer.vocabulary_size())
      throw UserError(ExitCode::usage, concat("'", word, "' is no id of ", given.tokenizer),
                      concat("ids are numbers below ", tokenizer.vocabulary_size()));
    ids.push_back(*id);
  }
  const std::string text = tokenizer.decode(ids, given.special_text);
  // A terminal's prompt begins a line; a file or pipe gets the bytes alone.
  std::cout << text << (::isatty(STDOUT_FILENO) && !text.ends_with('\n') ? "\n" : "");
  return 0;
}

int show_tokenizer(const Tokenizer& tokenizer, const TokenizerWords& given) {
  if (!given.text) {
    std::cout << tokenizer.vocabulary_size() << " ids\n";
    for (auto& special : tokenizer.special_tokens()) std::cout << special.id << '\t' << special.name << '\n';
    return 0;
  }
  const auto ids = tokenizer.encode(*given.text, {given.add_special, given.special_text});
  for (const auto id : ids)
    std::cout << id << '\t' << tokenizer.token(id) << '\t' << as_utf8(tokenizer.decode({&id, 1}, true)) << '\n';
  return 0;
}

}  // namespace

int tokenizer(const Arguments& arguments, Interrupt&) {
  CLI::App app("Learns tokenizers, and shows what they make of texts.", "flowtrain tokenizer");
  app.require_subcommand(1);
  TokenizerWords given;
  add_train(app, given);
  auto* encode = add_use(app, "encode", "print the ids of a text", given);
  auto* decode = add_use(app, "decode", "print the text of ids", given);
  auto* show = add_use(app, "show", "print the ids and pieces of a text, or the special tokens", given);
  encode->add_option("TEXT", given.text, "the text, in quotes; default: standard input");
  decode->add_option("ID", given.ids, "the ids; default: standard input");
  show->add_option("TEXT", given.text, "the text, in quotes");
  for (auto* command : {encode, show}) {
    command->add_flag("--add-special", given.add_special, "put the tokens around the text that the file prescribes");
    command->add_flag("--special-text", given.special_text, "take names of special tokens in the text for the tokens");
  }
  decode->add_flag("--special", given.special_text, "write special tokens by their names");
  if (!parse(app, arguments)) return 0;
  if (app.got_subcommand("train")) return train_tokenizer(given);
  const auto opened = open_tokenizer(given.tokenizer, given.pattern);
  if (*decode) return decode_ids(*opened, given);
  if (*show) return show_tokenizer(*opened, given);
  const std::string text = given.text ? *given.text : standard_input();
  std::cout << join(opened->encode(text, {given.add_special, given.special_text}), " ") << '\n';
  return 0;
}

}  // namespace flowtrain::commands

#include "pipeline/engine/text/continuation.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <utility>

#include "pipeline/engine/text/stop_texts.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/trace/clock.h"

namespace flowtrain {
namespace {

/// A text of a group that is under way.
struct TextRow {
  const Prompt& prompt;
  std::size_t index;  ///< place in the list of prompts
  TextStream stream;
  StopTexts stop;
  std::vector<std::int64_t> tokens;  ///< prompt and text
  Continuation made = {};
  bool over = false;
};

/// Prompts with equally many tokens.
class PromptGroup {
 public:
  PromptGroup(TextModel& model, const TextForm& form, const ContinuationRules& rules, const TakePiece& take)
      : model_(model), form_(form), rules_(rules), take_(take) {}

  void add(const Prompt& prompt, std::size_t index) {
    TextRow& row =
        rows_.emplace_back(TextRow{prompt, index, TextStream(*form_.tokenizer), StopTexts(rules_.stop), prompt.tokens});
    // The tokens before it decide how a token is written, such as whether a blank is.
    for (const auto id : prompt.tokens) row.stream.push(static_cast<std::uint32_t>(id));
    row.stream.begin_answer();
  }

  void run() {
    for (std::size_t token = 0; token < rules_.most_tokens && !is_over(); ++token) {
      const auto logits = next_logits();
      const std::size_t ids = logits.size() / rows_.size();
      for (std::size_t i = 0; i < rows_.size(); ++i) choose(rows_[i], logits.subspan(i * ids, ids), token);
    }
    for (TextRow& row : rows_)
      if (!row.over) finish(row);
  }

  std::vector<TextRow>& rows() { return rows_; }

 private:
  bool is_over() const { return std::ranges::all_of(rows_, &TextRow::over); }

  /// Returns the logits of all rows. A net that can take no more tokens begins anew with the last ones.
  std::span<const float> next_logits() {
    const std::size_t most = model_.length() > 0 ? static_cast<std::size_t>(model_.length()) : rows_[0].tokens.size();
    const std::size_t length = rows_[0].tokens.size();
    if (length > most || known_ == 0) {
      model_.begin_texts(static_cast<std::int64_t>(rows_.size()));
      known_ = length - std::min(length, most);
    }
    input_.clear();
    for (const TextRow& row : rows_)
      input_.insert(input_.end(), row.tokens.begin() + static_cast<std::ptrdiff_t>(known_), row.tokens.end());
    known_ = length;
    return model_.continue_texts(input_);
  }

  void choose(TextRow& row, std::span<const float> logits, std::size_t token) {
    if (row.over) {
      row.tokens.push_back(row.tokens.back());  // keeps the rows equally long
      return;
    }
    const std::int64_t id = next_token(row, logits, token);
    row.tokens.push_back(id);
    ++row.made.tokens;
    if (std::ranges::find(form_.ends, id) != form_.ends.end()) {
      row.made.stopped = true;
      return finish(row);
    }
    pass(row, row.stop.push(row.stream.push(static_cast<std::uint32_t>(id))));
    if (row.stop.found()) finish(row);
  }

  std::int64_t next_token(const TextRow& row, std::span<const float> logits, std::size_t token) const try {
    const auto known = logits.first(form_.tokenizer->vocabulary_size());  // a net may have more, which mean nothing
    return choose_token(known, rules_.choice, rules_.seed, row.prompt.number, static_cast<std::uint32_t>(token));
  } catch (const std::invalid_argument& error) {
    throw UserError(ExitCode::numerics, error.what(), "choose a snapshot from before the net diverged");
  }

  void finish(TextRow& row) {
    pass(row, row.stop.push(row.stream.finish()));
    row.made.stopped |= row.stop.found();
    row.over = true;
    pass(row, row.stop.finish());
  }

  void pass(TextRow& row, const std::string& piece) {
    row.made.text += piece;
    if (take_ && (row.over || !piece.empty())) take_(row.index, piece, row.over);
  }

  TextModel& model_;
  const TextForm& form_;
  const ContinuationRules& rules_;
  const TakePiece& take_;
  std::vector<TextRow> rows_;
  std::vector<std::int64_t> input_;
  std::size_t known_ = 0;  // tokens that the net has
};

/// Frees the net's memory of texts, whatever happens.
class EndTexts {
 public:
  explicit EndTexts(TextModel& model) : model_(model) {}
  ~EndTexts() { model_.end_texts(); }
  EndTexts(const EndTexts&) = delete;

 private:
  TextModel& model_;
};

}  // namespace

void check_vocabulary(const TextModel& model, const TextForm& form) {
  const auto ids = static_cast<std::int64_t>(form.tokenizer->vocabulary_size());
  if (model.vocabulary() < ids)
    throw UserError(ExitCode::usage,
                    concat("the net knows ", model.vocabulary(), " ids, but the tokenizer ", form.name, " has ", ids),
                    "name the tokenizer that the net was trained with");
  if (form.is_guess && model.vocabulary() != ids)
    throw UserError(ExitCode::usage,
                    concat("the run names no tokenizer, and none lies beside its data; that of bytes has ", ids,
                           " ids, but the net knows ", model.vocabulary()),
                    "name the tokenizer that the ids were made by: --tokenizer, or the key tokenizer of the [[field]]");
}

std::vector<Continuation> continue_prompts(TextModel& model, const TextForm& form, const ContinuationRules& rules,
                                           const std::vector<Prompt>& prompts, const TakePiece& take,
                                           std::size_t most_rows) try {
  check_vocabulary(model, form);
  const EndTexts ends(model);
  std::vector<Continuation> made(prompts.size());
  std::vector<bool> done(prompts.size());
  for (std::size_t first = 0; first < prompts.size(); ++first) {
    if (done[first]) continue;
    const auto start = std::chrono::steady_clock::now();
    PromptGroup group(model, form, rules, take);
    for (std::size_t i = first; i < prompts.size() && group.rows().size() < most_rows; ++i) {
      if (done[i] || prompts[i].tokens.size() != prompts[first].tokens.size()) continue;
      group.add(prompts[i], i);
      done[i] = true;
    }
    group.run();
    for (TextRow& row : group.rows()) {
      row.made.cut = model.length() > 0 && static_cast<std::int64_t>(row.prompt.tokens.size()) > model.length();
      row.made.seconds = seconds_since(start);
      made[row.index] = std::move(row.made);
    }
  }
  return made;
} catch (const std::invalid_argument& error) {
  throw UserError(ExitCode::usage, error.what());
}

}  // namespace flowtrain

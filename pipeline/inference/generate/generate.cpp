#include "pipeline/inference/generate/generate.h"

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <utility>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/text/terminal_text.h"
#include "pipeline/inference/generate/prompt_lines.h"
#include "pipeline/inference/predict/output_file.h"
#include "pipeline/inference/predict/requests.h"
#include "pipeline/inference/predict/snapshot_net.h"
#include "sampling/core/text.h"
#include "stages/trace/clock.h"

namespace flowtrain {
namespace {

// The most lines of standard input that are answered together.
constexpr std::size_t most_prompts_at_once = 256;

/// Writes prompts with their texts, as they are made. Texts that are made before their turn wait.
class TextWriter {
 public:
  TextWriter(OutputFile& out, const std::vector<std::string>& prompts)
      : out_(out), prompts_(prompts), waiting_(prompts.size()), over_(prompts.size()) {}

  void add(std::size_t index, std::string_view piece, bool last) {
    over_[index] = last;
    waiting_[index] += piece;
    while (current_ < over_.size() && (current_ == index || over_[current_])) {
      write_waiting();
      if (!over_[current_]) break;
      out_.write("\n");
      ++current_;
      begun_ = false;
    }
  }

 private:
  void write_waiting() {
    if (!std::exchange(begun_, true)) write((written_++ > 0 ? "\n" : "") + prompts_[current_]);
    if (!waiting_[current_].empty()) write(std::exchange(waiting_[current_], {}));
  }
  void write(std::string_view text) { out_.write(is_terminal_ ? terminal_text(text) : std::string(text)); }

  OutputFile& out_;
  const std::vector<std::string>& prompts_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::vector<std::string> waiting_;
  std::vector<bool> over_;
  std::size_t current_ = 0, written_ = 0;
  bool begun_ = false;
};

/// Loads the net of a snapshot. Throws UserError(usage) if it cannot continue texts, or if its device is not there.
TextModel& text_model_of(SnapshotNet& net, const std::filesystem::path& snapshot, const MakeLearner& make) {
  net.lay_out(1);
  // A GPU that does not answer is refused in one line.
  make_device(net.session().device(), 1, /*pin=*/false);
  auto* const texts = dynamic_cast<TextValidator*>(&net.load(make, /*validates=*/false));
  auto* const model = texts ? texts->text_model() : nullptr;
  if (!model)
    throw UserError(
        ExitCode::usage,
        concat(snapshot.string(), ": its net '", net.config().table("net").text("name"), "' cannot continue texts"),
        "use the run of a language model");
  return *model;
}

class GenerateRun {
 public:
  GenerateRun(const GenerateRequest& request, const MakeLearner& make)
      : request_(request),
        form_(text_form(request.config, request.tokenizer)),
        net_(request.config.with("val", "flip", false), request.snapshot),
        model_(text_model_of(net_, request.snapshot, make)) {}

  ExitCode run() {
    std::vector<GivenPrompt> prompts;
    for (auto& text : request_.prompts) prompts.push_back({.text = text});
    const bool serves = request_.prompts_file == "-";
    if (!request_.prompts_file.empty() && !serves)
      for (auto& each : prompts_of_file(request_.prompts_file)) prompts.push_back(std::move(each));
    answer(prompts);
    if (serves || prompts.empty()) read_lines(serves);
    if (texts_ > 0)
      log_info(concat(format_count(texts_), texts_ == 1 ? " text, " : " texts, ", format_count(tokens_), " tokens in ",
                      printed("%.3g s", seconds_), " (", printed("%.4g", static_cast<double>(tokens_) / seconds_),
                      " tokens/s)"));
    if (refused_ == 0) return ExitCode::ok;
    log_warn(concat(format_count(refused_), " of ", format_count(number_), " prompts could not be used"));
    return ExitCode::data;
  }

 private:
  void read_lines(bool is_json) {
    LineReader reader(STDIN_FILENO, is_json ? LineReader::Holds::requests : LineReader::Holds::list);
    if (!is_json && ::isatty(STDIN_FILENO) == 1) log_info("write a prompt a line; Ctrl-D ends the program");
    for (auto lines = reader.next(most_prompts_at_once); !lines.empty(); lines = reader.next(most_prompts_at_once)) {
      std::vector<GivenPrompt> prompts;
      prompts.reserve(lines.size());
      for (auto& line : lines) prompts.push_back(is_json ? parse_prompt(line) : GivenPrompt{.text = line});
      answer(prompts);
    }
  }

  /// Continues prompts, and writes the answers in their order.
  void answer(std::vector<GivenPrompt>& given) {
    std::vector<Prompt> prompts;
    std::vector<std::string> texts;
    for (auto& each : given) {
      const std::uint32_t number = number_++;
      if (each.problem.empty()) try {
          prompts.push_back({number, form_.encode(each.text)});
          texts.push_back(each.text);
          note_cut(number, prompts.back());
        } catch (const SampleError& error) {
          each.problem = error.what();
        }
      if (each.problem.empty()) continue;
      ++refused_;
      log_warn(terminal_text(concat("prompt ", number + 1, ": ", each.problem)));
    }
    if (prompts.empty() && given.empty()) return;
    if (request_.json) return write_json(given, prompts);
    TextWriter writer(out_, texts);
    for (auto& each : continued(
             prompts, [&](std::size_t index, std::string_view piece, bool last) { writer.add(index, piece, last); }))
      count(each);
  }

  /// Continues prompts, and counts the time.
  std::vector<Continuation> continued(const std::vector<Prompt>& prompts, const TakePiece& take) {
    const auto since = std::chrono::steady_clock::now();
    auto made = continue_prompts(model_, form_, request_.rules, prompts, take);
    seconds_ += seconds_since(since);
    return made;
  }

  void write_json(std::vector<GivenPrompt>& given, const std::vector<Prompt>& prompts) {
    const auto made = continued(prompts, {});
    std::size_t next = 0;
    for (auto& each : given) {
      JsonObject answer;
      if (each.id) answer["id"] = std::move(*each.id);
      if (each.problem.empty()) answer["prompt"] = each.text;
      if (!each.problem.empty()) {
        answer["error"] = each.problem;
      } else {
        const Continuation& text = made[next++];
        count(text);
        answer["text"] = text.text;
        answer["tokens"] = text.tokens;
        answer["finish_reason"] = text.stopped ? "stop" : "length";
        answer["seconds"] = text.seconds;
        answer["tokens_per_s"] = static_cast<double>(text.tokens) / text.seconds;
      }
      out_.write(json_text(nlohmann::ordered_json(std::move(answer))) +
                 "\n");  // json_line() would mask what looks like a secret in a text
    }
  }

  void note_cut(std::uint32_t number, const Prompt& prompt) {
    const auto most = model_.length(), tokens = static_cast<std::int64_t>(prompt.tokens.size());
    if (most > 0 && tokens > most)
      log_warn(
          concat("prompt ", number + 1, " has ", tokens, " tokens, and the net takes ", most, ": only its end counts"));
  }

  void count(const Continuation& made) {
    ++texts_;
    tokens_ += made.tokens;
  }

  const GenerateRequest& request_;
  const TextForm form_;
  SnapshotNet net_;
  TextModel& model_;
  OutputFile out_{"-"};
  std::uint32_t number_ = 0;  // the number of the next prompt
  std::uint64_t texts_ = 0, tokens_ = 0, refused_ = 0;
  double seconds_ = 0;
};

}  // namespace

ExitCode generate(const GenerateRequest& request, const MakeLearner& make) { return GenerateRun(request, make).run(); }

}  // namespace flowtrain

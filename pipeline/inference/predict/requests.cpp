#include "pipeline/inference/predict/requests.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "pipeline/inference/predict/given_records.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {

namespace {

// The limit of a request line; parsed JSON takes many times its size.
constexpr std::size_t longest_request = 1 << 16;
// The most requests that are predicted together.
constexpr std::size_t most_at_once = 256;

Input no_request(const std::string& problem) {
  return {.name = "", .problem = problem + R"(; a request is a line as {"file": "a.jpg", "id": 1})"};
}

}  // namespace

// Returns false if no bytes have arrived, or the input has ended.
bool LineReader::read(bool waits) {
  pollfd ready{descriptor_, POLLIN, 0};
  if (over_ || (!waits && ::poll(&ready, 1, 0) <= 0)) return false;
  char piece[1 << 16];
  const ssize_t got = TEMP_FAILURE_RETRY(::read(descriptor_, piece, sizeof piece));
  if (got < 0) throw UserError(ExitCode::data, std::string("cannot read standard input: ") + std::strerror(errno));
  over_ = got == 0;
  text_.append(piece, static_cast<std::size_t>(got));
  return !over_;
}

std::vector<std::string> LineReader::next(std::size_t most) {
  while (text_.find('\n') == text_.npos && read(true)) {
  }
  while (text_.size() < longest_request && read(false)) {
  }
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; lines.size() < most && (end = text_.find('\n', begin)) != text_.npos; begin = end + 1)
    lines.push_back(text_.substr(begin, end - begin));
  text_.erase(0, begin);
  if (lines.empty() && !text_.empty()) lines.push_back(std::exchange(text_, {}));
  for (auto& line : lines) line = clean_line(line, ++number_, "standard input");
  return lines;
}

PredictRequestLine parse_request(const std::string& line, InputFinder& finder) {
  if (line.size() > longest_request) return {no_request("the line is longer than 64 KiB")};
  const ordered_json request = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!request.is_object()) return {no_request("the line is no JSON object")};
  const ordered_json id = request.value("id", ordered_json());
  if (finder.records()) {
    GivenRow values;
    for (auto& [key, value] : request.items())
      values[key] = value.is_string() ? value.get<std::string>() : value.dump();
    if (auto record = finder.records()->row(values)) return {std::move(*record), id};
  }
  const auto file = request.find("file");
  if (file == request.end() || !file->is_string()) return {no_request("it has no \"file\" with a text"), id};
  for (const char* key : {"begin", "end"})
    if (request.contains(key))
      return {no_request(concat("a file is read whole, but the line has \"", key, R"("; a part of a recording is )",
                                R"({"audio": "a.wav", "begin": 1.5, "end": 4})")),
              id};
  return {finder.single(file->get<std::string>()), id};
}

void answer_requests(int descriptor, Predictor& predictor, const PredictionFormat& format, OutputFile& out,
                     const std::function<void(Prediction&)>& seen) {
  LineReader reader(descriptor);
  InputFinder finder(&predictor.records());
  for (auto lines = reader.next(most_at_once); !lines.empty(); lines = reader.next(most_at_once)) {
    std::vector<Input> inputs;
    std::vector<ordered_json> ids;
    for (auto& line : lines) {
      PredictRequestLine request = parse_request(line, finder);
      inputs.push_back(std::move(request.input));
      ids.push_back(std::move(request.id));
    }
    std::size_t answered = 0;
    predictor.run(inputs, [&](Prediction& prediction) {
      seen(prediction);
      JsonObject answer;
      if (!ids[answered].is_null()) answer["id"] = std::move(ids[answered]);
      ++answered;
      for (auto& [key, value] : to_json(prediction, format)) answer[key] = std::move(value);
      out.write(json_line(std::move(answer)) + "\n");
    });
  }
}

}  // namespace flowtrain

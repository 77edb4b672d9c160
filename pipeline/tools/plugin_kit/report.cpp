#include "pipeline/tools/plugin_kit/report.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "pipeline/tools/plugin_kit/read_file.h"
#include "sampling/fingerprint.h"

namespace flowtrain::plugin_kit {

void Report::line(std::string_view word, std::string_view text) {
  std::string line(word);
  line += '\t';
  line += text;
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  (void)!TEMP_FAILURE_RETRY(::write(file_, line.data(), line.size()));
}

void Report::at(std::string_view place) {
  place_ = place;
  line("at", place);
}
void Report::note(std::string_view text) { line("note", text); }
void Report::refuse(std::string_view reason) { line("refused", reason); }
void Report::result(std::string_view item, std::uint64_t hash) {
  line("result", std::string(item) + '\t' + hash_hex(hash));
}
void Report::part(const CheckedPart& part) { line("part", part.kind + '\t' + part.name); }
void Report::fail(const CheckFailure& failure) {
  line("failed", failure.what);
  line("hint", failure.hint);
}
void Report::end() { line("end", ""); }

ReportLines read_report(int file) {
  ReportLines report;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    const auto cut = line.find('\t');
    if (cut == std::string::npos) continue;
    const std::string word = line.substr(0, cut), text = line.substr(cut + 1);
    const auto second = std::min(text.find('\t'), text.size());
    const std::string first_part = text.substr(0, second), rest = text.substr(std::min(second + 1, text.size()));
    if (word == "at") report.at = text;
    if (word == "note") report.note = text;
    if (word == "refused") report.refusal = text;
    if (word == "failed") report.failure = text;
    if (word == "hint") report.hint = text;
    if (word == "result") report.results[first_part] = rest;
    if (word == "part") report.parts.push_back({first_part, rest});
    if (word == "end") report.ended = true;
  }
  return report;
}

}  // namespace flowtrain::plugin_kit

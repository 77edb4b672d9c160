#include "pipeline/runs/serve/pages.h"

#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/runs/report_page/page_files.h"
#include "pipeline/runs/serve/access.h"
#include "pipeline/runs/serve/live_page.h"
#include "pipeline/runs/serve/page_texts.h"
#include "sampling/core/secrets.h"
#include "sampling/core/text.h"

namespace flowtrain::serve {
namespace {

constexpr std::size_t most_compared = 16, most_bytes_of_lines = 256 << 10;
constexpr const char *html = "text/html; charset=utf-8", *json = "application/json";

void set_policy(http::Response& response, const std::string& scripts) {
  response.set_header("Content-Security-Policy", "default-src 'none'; script-src " + scripts +
                                                     "; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
                                                     "media-src 'self' data:; connect-src 'self'; form-action "
                                                     "'self'; base-uri 'none'; frame-ancestors 'none'");
}

void answer_text(http::Response& response, std::string_view text, const char* type) {
  response.status = 200;
  response.set_content(text, type);
}

// Answers with a file in pieces, as it may be large.
void answer_file(http::Response& response, const ServedFile& file) {
  response.status = 200;
  response.set_header("Content-Type", file.type);
  response.size_bytes = file.size_bytes;
  response.part = [file](std::uint64_t offset) { return file.part(offset); };
}

// Returns the content of a small file: its first 16 MiB.
std::string whole(const ServedFile& file) {
  constexpr std::uint64_t most_bytes = 16 << 20;
  std::string text;
  while (text.size() < std::min(file.size_bytes, most_bytes)) {
    const std::string part = file.part(text.size());
    if (part.empty()) break;
    text += part;
  }
  return text;
}

// Encodes a part of a path for an address.
std::string encoded(std::string_view part) {
  std::string text;
  for (const unsigned char c : part)
    if (std::isalnum(c) || c == '-' || c == '_' || c == '.')
      text += static_cast<char>(c);
    else
      text += printed("%%%02X", c);
  return text;
}

// Returns true if the client already has the answer.
bool answer_tag(http::Response& response, const std::string& tag, const std::string& known_tag) {
  response.set_header("ETag", tag);
  if (known_tag != tag) return false;
  response.status = 304;
  return true;
}

}  // namespace

void Pages::answer(const http::Target& target, const std::string& known_tag, http::Response& response) {
  response.status = 404;
  const std::string& first = target.path[0];
  if (first == "run") return answer_run(target, response);
  if (target.path.size() != 1) return;
  if (first.empty()) {
    set_policy(response, "'self'");
    return answer_text(response, page::list_html, html);
  }
  if (first == "list.js") return answer_text(response, page::list_script, "text/javascript");
  if (first == "live.js") return answer_text(response, page::live_script, "text/javascript");
  if (first == "live.css") return answer_text(response, page::style, "text/css");
  if (first == "style.css") return answer_text(response, concat(page_files::style, page::style), "text/css");
  if (first == "data") return answer_data(target, known_tag, response);
  if (first == "lines") return answer_lines(target, response);
  if (first != "runs") return;
  const auto list = runs_.json();
  const auto tag = printed("\"%016llx\"", static_cast<unsigned long long>(XXH64(list.data(), list.size(), 0)));
  if (!answer_tag(response, tag, known_tag)) answer_text(response, list, json);
}

std::vector<FoundRun> Pages::asked_runs(const http::Target& target) {
  std::vector<FoundRun> asked;
  for (auto& [name, value] : target.query) {
    if (name != "run") continue;
    auto run = runs_.find(value);
    if (!run || asked.size() >= most_compared) return {};
    asked.push_back(std::move(*run));
  }
  return asked;
}

void Pages::answer_run(const http::Target& target, http::Response& response) {
  std::vector<FoundRun> runs;
  if (target.path.size() == 2 && target.path[1].empty()) {
    runs = asked_runs(target);
  } else if (auto found = runs_.find_prefix(target.path, 1)) {
    const auto& [run, parts] = *found;
    const std::vector<std::string> rest(target.path.begin() + 1 + static_cast<std::ptrdiff_t>(parts),
                                        target.path.end());
    if (rest.empty()) {  // links of the page are relative to its folder
      response.status = 303;
      response.set_header("Location", "./" + encoded(target.path.back()) + "/");
      return;
    }
    if (rest.size() > 1 || !rest[0].empty()) {
      const auto file = open_served_file(run.folder, rest);
      if (file && (rest[0] == "config.toml" || rest[0] == "env.json"))
        answer_text(response, without_secrets(whole(*file)), file->type.c_str());
      else if (file)
        answer_file(response, *file);
      return;
    }
    runs.push_back(run);
  }
  if (runs.empty()) return;
  const auto nonce = random_token();
  set_policy(response, concat("'self' 'nonce-", nonce, "'"));
  const MutexLock lock(reading_);
  answer_text(response, live_page(runs, nonce), html);
}

void Pages::answer_data(const http::Target& target, const std::string& known_tag, http::Response& response) {
  const auto runs = asked_runs(target);
  if (runs.empty() || answer_tag(response, data_tag(runs), known_tag)) return;
  const MutexLock lock(reading_);
  answer_text(response, live_data(runs), json);
}

void Pages::answer_lines(const http::Target& target, http::Response& response) {
  const auto runs = asked_runs(target);
  if (runs.size() != 1) return;
  const auto& folder = runs[0].folder;
  const auto lines = read_appended(folder / "metrics.jsonl", mark_of(target.value("from")), most_bytes_of_lines);
  response.set_header("X-Mark", text_of(lines.next));
  response.set_header("X-Running", seems_running(folder) ? "1" : "0");
  if (lines.restarted) response.set_header("X-Restarted", "1");
  answer_text(response, without_secrets(lines.text), "application/x-ndjson");
}

}  // namespace flowtrain::serve

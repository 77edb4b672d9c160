#include "pipeline/base/config/document.h"

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <vector>

#include "pipeline/base/config/env_variables.h"
#include "sampling/core/home.h"
#include "sampling/core/settings.h"
#include "sampling/io/text_lines.h"
#include "stages/system/find_library.h"

namespace flowtrain {
namespace {

constexpr std::size_t max_file_bytes = 1 << 20;
constexpr int max_files = 64;  // stops files that name their bases over and over
constexpr int max_depth = 8;   // tables in tables; there are no deeper keys

Origin origin_of(const toml::node& node, const std::string& source) {
  auto begin = node.source().begin;
  return {source, static_cast<int>(begin.line), static_cast<int>(begin.column)};
}

[[noreturn]] void fail(const Origin& origin, const std::string& message, const std::string& hint = {}) {
  throw UserError(ExitCode::usage, origin.text() + ": " + message, hint);
}

bool is_plain(std::string_view key) {
  return !key.empty() &&
         std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

template <class T>
std::vector<T> elements(const toml::array& array) {
  std::vector<T> list;
  for (auto& each : array) list.push_back(*each.value<T>());
  return list;
}

/// Converts a list. An empty one has no type: it becomes a list of integers, and the key decides (resolve.cpp).
Value list_of(const toml::array& array, const std::string& key, const Origin& origin) {
  auto all = [&](auto wanted) { return std::all_of(array.begin(), array.end(), wanted); };
  if (all([](auto& each) { return each.is_integer(); })) return elements<std::int64_t>(array);
  if (all([](auto& each) { return each.is_number(); })) return elements<double>(array);
  if (all([](auto& each) { return each.is_string(); })) return elements<std::string>(array);
  fail(origin, key + ": expected a list of numbers or a list of texts");
}

Value value_of(const toml::node& node, const std::string& key, const Origin& origin) {
  switch (node.type()) {
    case toml::node_type::boolean: return **node.as_boolean();
    case toml::node_type::integer: return **node.as_integer();
    case toml::node_type::floating_point: return **node.as_floating_point();
    case toml::node_type::string: return **node.as_string();
    case toml::node_type::array: return list_of(*node.as_array(), key, origin);
    default: fail(origin, key + ": dates and times are not used here", "write it as a text, in quotes");
  }
}

/// The place of a node, and the layer that it belongs to.
struct Place {
  std::string source;
  bool has_lines;  ///< false for flags, whose origin is their name alone
  int layer;
  std::span<const std::string_view> lines = {};  ///< lines of a run's config.toml, which mark defaults

  /// Returns whether the line of `origin` says that its value is the default.
  bool is_marked(const Origin& origin) const {
    const auto line = static_cast<std::size_t>(origin.line);
    return line > 0 && line <= lines.size() && lines[line - 1].ends_with("  # default");
  }

  Origin of(const toml::node& node) const { return has_lines ? origin_of(node, source) : Origin{source}; }
};

/// Returns the entries of [[key]], or of `key = []` at the top level, where all lists are tables.
const toml::array* tables_in(const toml::node& node, const std::string& prefix) {
  const auto* array = node.as_array();
  const bool tables = array && (array->is_array_of_tables() || (array->empty() && prefix.empty()));
  return tables ? array : nullptr;
}

void merge(Document& document, const toml::table& table, const std::string& prefix, const Place& place);

void merge_list(Document& document, const toml::array& entries, const std::string& key, const Origin& origin,
                const Place& place) {
  erase_table(document, key);
  document.lists[key] = {origin, place.layer, entries.size()};
  std::size_t index = 0;
  for (auto& entry : entries) {
    const auto name = key + "." + std::to_string(index++);
    document.tables.insert_or_assign(name, place.of(entry));
    merge(document, *entry.as_table(), name, place);
  }
}

void merge(Document& document, const toml::table& table, const std::string& prefix, const Place& place) {
  for (auto& [name, node] : table) {
    std::string key = prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
    Origin origin = place.of(node);
    if (place.has_lines) {  // a value's position is that of its key: there the reader looks for it
      origin.line = static_cast<int>(name.source().begin.line);
      origin.column = static_cast<int>(name.source().begin.column);
    }
    if (!is_plain(name.str())) fail(origin, "unknown key '" + key + "'");
    if (std::count(key.begin(), key.end(), '.') >= max_depth) fail(origin, "tables are nested deeper than 8");
    if (auto* entries = tables_in(node, prefix)) {
      merge_list(document, *entries, key, origin, place);
    } else if (auto* inner = node.as_table()) {
      if (document.lists.contains(key)) erase_table(document, key);
      document.tables.insert_or_assign(key, origin);
      merge(document, *inner, key, place);
    } else {
      document.values.insert_or_assign(
          key, Written{value_of(node, key, origin), origin, place.layer, {}, place.is_marked(origin)});
    }
  }
}

/// Returns the whole file. `asked_by` is the beginning of messages ("configs/a.toml:1:1: base: "), or empty.
std::string read_text(const std::filesystem::path& file, const std::string& asked_by) {
  auto refuse = [&](const std::string& why) {
    throw UserError(ExitCode::usage, asked_by + "cannot read the configuration '" + file.string() + "': " + why,
                    asked_by.empty() ? "flowtrain CONFIG takes a .toml file or a run's folder"
                                     : "files in `base` are looked for beside the file that names them");
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) refuse("it is a folder");
  const bool is_other = std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored);
  if (!asked_by.empty() && is_other) refuse("it is no regular file");  // a pipe or a terminal would hang us
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(std::strerror(errno));
  std::string text(max_file_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) refuse("reading failed");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > max_file_bytes) refuse("it is larger than 1 MiB");
  return text;
}

/// Returns the place after the string that begins at `at`, in one of TOML's four kinds of quotes.
std::size_t skip_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string marks(text.substr(at, 3) == std::string(3, quote) ? 3 : 1, quote);
  for (at += marks.size(); at < text.size(); ++at) {
    if (text.substr(at, marks.size()) == marks) return at + marks.size();
    if (marks.size() == 1 && text[at] == '\n') return at;  // the parser reports that it is not closed
    if (quote == '"' && text[at] == '\\') ++at;
  }
  return text.size();
}

/// Refuses keys of many parts ("a.a.a…") before they are parsed. Each part is a table in the one before, and toml++,
/// which bounds brackets, takes a tree of any depth down by recursion.
void refuse_deep_keys(std::string_view text, const std::string& file) {
  int line = 1, dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto begin = at++;
    if (c == '"' || c == '\'') at = skip_string(text, begin);
    if (c == '#') at = std::min(text.find('\n', at), text.size());
    if (c == '.' && ++dots >= max_depth) fail({file, line, 1}, "a key of more than 8 parts");
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) dots = 0;
    line += static_cast<int>(std::ranges::count(text.substr(begin, at - begin), '\n'));
  }
}

/// Returns whether a file is the configuration of a run or a snapshot, which says what nobody gave.
bool is_of_run(const std::filesystem::path& file) {
  const auto has = [&](const char* name) {
    std::error_code ignored;
    return std::filesystem::exists(file.parent_path() / name, ignored);
  };
  return file.filename() == "config.toml" && (has("manifest.json") || has("run.lock") || has("env.json"));
}

std::string expanded_path(const std::string& path, const std::string& asked_by) try {
  return expand_home(expand_variables(path));
} catch (const UserError& error) {
  throw UserError(error.code(), asked_by + error.what(), error.hint());
}

/// Reads files depth first, bases before the file that names them.
class Reader {
 public:
  Document document;

  void read(const std::filesystem::path& file, const std::string& asked_by) {
    check_circle(file, asked_by);
    if (++files_ > max_files) throw UserError(ExitCode::usage, asked_by + "more than 64 files are pulled in by `base`");
    auto text = read_text(file, asked_by);
    refuse_deep_keys(text, file.string());
    toml::table table;
    try {
      table = toml::parse(text);  // with the file's name it ends the program where memory runs out
    } catch (const toml::parse_error& error) {
      auto begin = error.source().begin;
      Origin origin{file.string(), static_cast<int>(begin.line), static_cast<int>(begin.column)};
      fail(origin, std::string(error.description()));
    }
    chain_.push_back(file);
    read_bases(table, file);
    chain_.pop_back();
    table.erase("base");
    const auto lines = is_of_run(file) ? text_lines(text, file.string()) : std::vector<std::string_view>();
    merge(document, table, "", {file.string(), true, document.layers++, lines});
  }

 private:
  void read_bases(const toml::table& table, const std::filesystem::path& file) {
    auto* base = table.get("base");
    if (!base) return;
    auto wrong = [&] {
      fail(origin_of(*base, file.string()), "base: expected a list of files", "base = [\"x.toml\"]");
    };
    if (!base->is_array()) wrong();
    for (auto& each : *base->as_array()) {
      if (!each.is_string()) wrong();
      const auto asked_by = origin_of(each, file.string()).text() + ": base: ";
      read((file.parent_path() / expanded_path(**each.as_string(), asked_by)).lexically_normal(), asked_by);
    }
  }

  void check_circle(const std::filesystem::path& file, const std::string& asked_by) const {
    std::error_code ignored;
    auto found = std::find_if(chain_.begin(), chain_.end(),
                              [&](auto& each) { return std::filesystem::equivalent(each, file, ignored); });
    if (found == chain_.end()) return;
    std::string circle;
    for (; found != chain_.end(); ++found) circle += found->string() + " → ";
    throw UserError(ExitCode::usage, asked_by + "files are each other's base: " + circle + file.string());
  }

  std::vector<std::filesystem::path> chain_;
  int files_ = 0;
};

}  // namespace

Document read_document(const std::filesystem::path& file) {
  Reader reader;
  std::error_code ignored;
  const auto shipped = std::filesystem::exists(file, ignored) ? std::filesystem::path() : find_shipped(file);
  reader.read(shipped.empty() ? file : shipped, "");
  reader.document.file = file.string();
  return std::move(reader.document);
}

void erase_table(Document& document, const std::string& name) {
  const auto is_inside = [&](auto& each) { return each.first == name || each.first.starts_with(name + "."); };
  std::erase_if(document.values, is_inside);
  std::erase_if(document.tables, is_inside);
  std::erase_if(document.lists, is_inside);
}

void write_over(Document& document, const std::string& key, const std::string& text, const std::string& origin) {
  toml::table parsed;
  try {
    parsed = toml::parse("value = " + text);
  } catch (const toml::parse_error&) {
    parsed.clear();
  }
  auto* node = parsed.size() == 1 ? parsed.get("value") : nullptr;
  if (node && (node->is_date() || node->is_time() || node->is_date_time())) node = nullptr;  // a text that looks so
  Place place{origin, false, document.layers};
  if (node && node->is_table()) {
    document.tables.insert_or_assign(key, Origin{origin});
    merge(document, *node->as_table(), key, place);
    return;
  }
  const bool top_level = key.find('.') == std::string::npos;
  if (const auto* entries = node ? tables_in(*node, top_level ? "" : key) : nullptr)
    return merge_list(document, *entries, key, Origin{origin}, place);
  Value value = node ? value_of(*node, key, Origin{origin}) : Value(text);
  std::optional<std::string> bare;
  if (!std::holds_alternative<std::string>(value)) bare = text;
  document.values.insert_or_assign(key, Written{std::move(value), Origin{origin}, place.layer, std::move(bare)});
}

}  // namespace flowtrain

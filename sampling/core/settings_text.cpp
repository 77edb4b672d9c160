// Texts of settings for messages and files: values as TOML writes them, and similar names.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "sampling/core/settings.h"
#include "sampling/core/spelling.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

std::string toml(bool value) { return value ? "true" : "false"; }

std::string toml(std::int64_t value) { return std::to_string(value); }

/// Returns the shortest digits that read back as the same number, with a point or exponent so that it stays a real.
std::string toml(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const std::string text(digits, end);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string toml(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    switch (c) {
      case '"': text += "\\\""; break;
      case '\\': text += "\\\\"; break;
      case '\n': text += "\\n"; break;
      case '\t': text += "\\t"; break;
      case '\r': text += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          char escape[8];
          std::snprintf(escape, sizeof escape, "\\u%04X", static_cast<unsigned>(c));
          text += escape;
        } else {
          text += c;
        }
    }
  }
  return text + '"';
}

template <class T>
std::string toml(const std::vector<T>& values) {
  return "[" + join(values, ", ", [](const T& value) { return toml(value); }) + "]";
}

/// Counts the insertions, deletions, replacements and swaps of neighbours that lead from a to b (F. Damerau 1964, in
/// the "optimal string alignment" form that edits no part twice).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> two_back, previous, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_back = std::move(previous);
    previous = std::move(row);
    row.assign(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_back[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// Splits a name: "loader.batch_per_rank" → loader, batch, per, rank.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::string_view("_-. ").find(c) == std::string_view::npos)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

/// Returns whether two words are equal, or one of them begins with the other: "warm" and "warmup".
bool are_alike(const std::string& a, const std::string& b) {
  constexpr std::size_t least = 3;
  return a == b || (std::min(a.size(), b.size()) >= least && (a.starts_with(b) || b.starts_with(a)));
}

}  // namespace

std::string to_toml(const Value& value) {
  return std::visit([](const auto& held) { return toml(held); }, value);
}

std::string nearest(const std::string& word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 2 + 1;
  for (const auto& candidate : candidates)
    if (const auto distance = edit_distance(word, candidate); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  return best;
}

std::string similar(const std::string& word, std::span<const std::string> candidates) {
  std::string best = nearest(word, candidates);
  if (!best.empty()) return best;
  const auto words = words_of(word);
  double most = 0;
  for (const auto& candidate : candidates) {
    const auto others = words_of(candidate);
    const auto shared = std::ranges::count_if(words, [&](const std::string& each) {
      return each.size() > 1 && std::ranges::any_of(others, [&](auto& other) { return are_alike(each, other); });
    });
    const double share = static_cast<double>(shared) / static_cast<double>(std::max(words.size(), others.size()));
    if (share > most) best = candidate, most = share;
  }
  return best;
}

}  // namespace flowtrain

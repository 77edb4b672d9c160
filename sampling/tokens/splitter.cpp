#include "sampling/tokens/splitter.h"

#include <functional>
#include <utility>

#include "sampling/tokens/unicode.h"

namespace flowtrain {
namespace {

/// Returns an empty text that stays until the next call of encode().
std::string& new_text(Scratch& scratch) {
  if (scratch.used_texts == scratch.texts.size()) scratch.texts.push_back(std::make_unique<std::string>());
  std::string& text = *scratch.texts[scratch.used_texts++];
  text.clear();
  return text;
}

/// Pieces between borders: `matched` says which of them were found.
struct SplitPart {
  std::size_t begin, end;
  bool matched;
};

void put(std::string_view text, const std::vector<SplitPart>& parts, SplitBehavior behavior,
         std::vector<std::string_view>& pieces) {
  std::size_t begin = 0;
  bool open = false;  // a piece from `begin` on goes on
  const auto close = [&](std::size_t end) {
    if (open && end > begin) pieces.push_back(text.substr(begin, end - begin));
    open = false;
  };
  bool was_matched = false;
  for (const SplitPart& part : parts) {
    const bool joins = open && ((behavior == SplitBehavior::merged_with_previous && part.matched && !was_matched) ||
                                (behavior == SplitBehavior::merged_with_next && !part.matched && was_matched) ||
                                (behavior == SplitBehavior::contiguous && part.matched == was_matched));
    if (!joins) {
      close(part.begin);
      begin = part.begin;
      open = !(part.matched && behavior == SplitBehavior::removed);
    }
    was_matched = part.matched;
  }
  if (!parts.empty()) close(parts.back().end);
}

}  // namespace

void Splitter::add(WordRules rules) {
  only_rules_ = steps_.empty() ? std::optional(rules) : std::nullopt;
  steps_.emplace_back([rules](std::string_view piece, bool, std::vector<std::string_view>& pieces, Scratch&) {
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t end = word_end(rules, unicode::classes(), piece, at);
      pieces.push_back(piece.substr(at, end - at));
      at = end;
    }
  });
}

const std::uint8_t* Splitter::unicode_classes() { return unicode::classes(); }

void Splitter::split(std::string_view text, bool at_begin, Scratch& scratch) const {
  scratch.used_texts = 0;
  scratch.pieces.assign({text});
  for (const auto& step : steps_) {
    scratch.finer.clear();
    for (std::size_t i = 0; i < scratch.pieces.size(); ++i) {
      const std::string_view piece = scratch.pieces[i];
      // A step may have left out the beginning of the text. A piece elsewhere is a new text.
      const bool is_later = std::less()(text.data(), piece.data()) && piece.data() < text.data() + text.size();
      if (!piece.empty()) step(piece, at_begin && i == 0 && !is_later, scratch.finer, scratch);
    }
    scratch.pieces.swap(scratch.finer);
  }
}

namespace split {

Splitter::Step at(Finder find, SplitBehavior behavior, bool inverted) {
  return [find = std::move(find), behavior, inverted](std::string_view piece, bool,
                                                      std::vector<std::string_view>& pieces, Scratch&) {
    thread_local std::vector<SplitPart> parts;
    parts.clear();
    std::size_t done = 0;
    find(piece, [&](std::size_t begin, std::size_t end) {
      if (begin > done) parts.push_back({done, begin, inverted});
      parts.push_back({begin, end, !inverted});
      done = end;
    });
    if (done < piece.size()) parts.push_back({done, piece.size(), inverted});
    put(piece, parts, behavior, pieces);
  };
}

Finder pattern(const std::string& pattern) {
  return [pattern = TextPattern(pattern)](std::string_view text, const auto& found) { pattern.each(text, found); };
}

Finder literal(std::string text) {
  return [wanted = std::move(text)](std::string_view text, const auto& found) {
    if (wanted.empty()) return;
    for (std::size_t at = 0; (at = text.find(wanted, at)) != text.npos; at += wanted.size())
      found(at, at + wanted.size());
  };
}

Finder characters(unsigned classes, bool each) {
  return [classes, each](std::string_view text, const auto& found) {
    const auto* all = unicode::classes();
    std::size_t begin = 0;
    bool open = false;
    for (std::size_t at = 0; at < text.size();) {
      const auto [code, bytes] = unicode::character_at(text, at);
      const bool is = (all[code] & classes) != 0;
      if (open && (!is || each)) found(begin, at);
      if (is && (!open || each)) begin = at;
      open = is;
      at += bytes;
    }
    if (open) found(begin, text.size());
  };
}

Finder words_and_signs() {
  return [](std::string_view text, const auto& found) {
    const auto* all = unicode::classes();
    const auto kind = [&](char32_t code) { return all[code] & unicode::word ? 2 : all[code] & unicode::space ? 0 : 1; };
    std::size_t begin = 0;
    int last = 0;
    for (std::size_t at = 0; at < text.size();) {
      const auto [code, bytes] = unicode::character_at(text, at);
      const int now = kind(code);
      if (now != last) {
        if (last != 0) found(begin, at);
        begin = at;
        last = now;
      }
      at += bytes;
    }
    if (last != 0) found(begin, text.size());
  };
}

Splitter::Step bert() {
  return [](std::string_view piece, bool, std::vector<std::string_view>& pieces, Scratch&) {
    const auto* classes = unicode::classes();
    std::size_t begin = 0;
    for (std::size_t at = 0; at < piece.size();) {
      const auto [code, bytes] = unicode::character_at(piece, at);
      if (classes[code] & (unicode::space | unicode::punctuation)) {
        if (at > begin) pieces.push_back(piece.substr(begin, at - begin));
        if (classes[code] & unicode::punctuation) pieces.push_back(piece.substr(at, bytes));
        begin = at + bytes;
      }
      at += bytes;
    }
    if (begin < piece.size()) pieces.push_back(piece.substr(begin));
  };
}

Splitter::Step prefix_space() {
  return [](std::string_view piece, bool, std::vector<std::string_view>& pieces, Scratch& scratch) {
    if (piece.starts_with(' ')) return pieces.push_back(piece);
    std::string& text = new_text(scratch);
    text = ' ';
    text += piece;
    pieces.push_back(text);
  };
}

Splitter::Step metaspace(std::string sign, Prepend prepend, bool splits) {
  return [sign = std::move(sign), prepend, splits](std::string_view piece, bool at_begin,
                                                   std::vector<std::string_view>& pieces, Scratch& scratch) {
    std::string& text = new_text(scratch);
    for (const char c : piece) c == ' ' ? text += sign : text += c;
    if ((prepend == Prepend::always || (prepend == Prepend::first && at_begin)) && !text.starts_with(sign))
      text.insert(0, sign);
    if (!splits) return pieces.push_back(text);
    std::size_t begin = 0;
    for (std::size_t at = text.starts_with(sign) ? sign.size() : 0; (at = text.find(sign, at)) != text.npos;
         at += sign.size()) {
      pieces.push_back(std::string_view(text).substr(begin, at - begin));
      begin = at;
    }
    pieces.push_back(std::string_view(text).substr(begin));
  };
}

}  // namespace split

}  // namespace flowtrain

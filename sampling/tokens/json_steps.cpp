#include "sampling/tokens/json_steps.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sampling/tokens/unicode.h"

namespace flowtrain {
namespace {

/// Calls `make`, and turns an std::invalid_argument into the error of a place.
template <class Make>
auto at_place(const JsonPlace& place, Make make) {
  try {
    return make();
  } catch (const std::invalid_argument& error) {
    place.fail(error.what());
  }
}

/// A pattern of "Split" or "Replace": a text or a regular expression.
struct JsonPattern {
  std::string text;
  bool is_regex;
  JsonPlace place;

  explicit JsonPattern(const JsonPlace& pattern)
      : is_regex(pattern["Regex"].exists()), place(pattern[is_regex ? "Regex" : "String"]) {
    text = place.text();
  }
};

SplitBehavior behavior_of(const JsonPlace& place) {
  const std::string name = place.text_or("Isolated");
  constexpr std::pair<const char*, SplitBehavior> known[] = {
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous}};
  for (auto& [text, behavior] : known)
    if (name == text) return behavior;
  place.unsupported("Removed, Isolated, MergedWithPrevious, MergedWithNext and Contiguous are");
}

void add_split(const JsonPlace& place, Splitter& splitter) {
  const JsonPattern pattern(place["pattern"]);
  const auto behavior = behavior_of(place["behavior"]);
  const bool inverted = place["invert"].flag_or(false);
  if (pattern.is_regex)
    if (const auto rules = rules_of_pattern(pattern.text))
      // Such a pattern leaves nothing out: each piece is a match.
      if (behavior == (inverted ? SplitBehavior::removed : SplitBehavior::isolated)) return splitter.add(*rules);
  auto finder = pattern.is_regex ? at_place(pattern.place, [&] { return split::pattern(pattern.text); })
                                 : split::literal(pattern.text);
  splitter.add(split::at(std::move(finder), behavior, inverted));
}

split::Prepend prepend_of(const JsonPlace& place) {
  if (const auto scheme = place["prepend_scheme"]; scheme.exists()) {
    const auto name = scheme.text();
    if (name == "always") return split::Prepend::always;
    if (name == "first") return split::Prepend::first;
    if (name == "never") return split::Prepend::never;
    scheme.unsupported("always, first and never are");
  }
  return place["add_prefix_space"].flag_or(true) ? split::Prepend::always : split::Prepend::never;
}

bool add_splitter(const JsonPlace& place, Splitter& splitter) {
  using enum SplitBehavior;
  const auto type = place["type"].text();
  const auto add = [&](split::Finder finder, SplitBehavior behavior) {
    splitter.add(split::at(std::move(finder), behavior));
  };
  if (type == "Split") {
    add_split(place, splitter);
  } else if (type == "ByteLevel") {
    if (place["add_prefix_space"].flag_or(true)) splitter.add(split::prefix_space());
    if (place["use_regex"].flag_or(true)) splitter.add(rules_of_name("gpt2"));
    return true;
  } else if (type == "Metaspace") {
    splitter.add(split::metaspace(place["replacement"].text_or("▁"), prepend_of(place), place["split"].flag_or(true)));
  } else if (type == "BertPreTokenizer") {
    add(split::characters(unicode::space, true), removed);
    add(split::characters(unicode::punctuation, true), isolated);
  } else if (type == "Whitespace") {
    splitter.add(split::at(split::words_and_signs(), removed, true));
  } else if (type == "WhitespaceSplit") {
    add(split::characters(unicode::space, true), removed);
  } else if (type == "Punctuation") {
    add(split::characters(unicode::punctuation, true), behavior_of(place["behavior"]));
  } else if (type == "Digits") {
    add(split::characters(unicode::number, place["individual_digits"].flag_or(false)), isolated);
  } else {
    place["type"].unsupported(
        "Split, ByteLevel, Metaspace, BertPreTokenizer, Whitespace, WhitespaceSplit, Punctuation, Digits and Sequence "
        "are");
  }
  return false;
}

void add_normalizer(const JsonPlace& place, Normalizer& normalizer) {
  const auto type = place["type"].text();
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    using unicode::Form;
    normalizer.add(normal::form(type == "NFC"    ? Form::nfc
                                : type == "NFD"  ? Form::nfd
                                : type == "NFKC" ? Form::nfkc
                                                 : Form::nfkd));
  } else if (type == "Lowercase") {
    normalizer.add(normal::lower_case());
  } else if (type == "StripAccents") {
    normalizer.add(normal::strip_accents());
  } else if (type == "Strip") {
    normalizer.add(normal::strip(place["strip_left"].flag_or(true), place["strip_right"].flag_or(true)));
  } else if (type == "Prepend") {
    normalizer.add(normal::prepend(std::string(place["prepend"].text())));
  } else if (type == "Replace") {
    const JsonPattern pattern(place["pattern"]);
    std::string by(place["content"].text());
    normalizer.add(pattern.is_regex
                       ? at_place(pattern.place, [&] { return normal::replace_pattern(pattern.text, std::move(by)); })
                       : normal::replace(pattern.text, std::move(by)));
  } else if (type == "BertNormalizer") {
    const bool lower = place["lowercase"].flag_or(true);
    normalizer.add(normal::bert({place["clean_text"].flag_or(true), place["handle_chinese_chars"].flag_or(true),
                                 place["strip_accents"].flag_or(lower), lower}));
  } else {
    place["type"].unsupported(
        "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, BertNormalizer and Sequence are");
  }
}

/// Calls each(step) for a step, or for the steps of a sequence, which may hold further ones.
template <class Each>
void each_step(const JsonPlace& place, const char* list, Each&& each, int depth = 0) {
  if (!place.exists()) return;
  if (place["type"].text() != "Sequence") return each(place);
  if (depth > 8) place.fail("sequences are nested more than 8 times");
  const auto steps = place[list];
  for (std::size_t i = 0; i < steps.size(); ++i) each_step(steps.at(i), list, each, depth + 1);
}

/// Returns the ids of a special token in a template.
std::vector<std::uint32_t> special_ids(const JsonPlace& item, const JsonPlace& specials) {
  const std::string name(item["SpecialToken"]["id"].text());
  const auto ids = specials[name.c_str()]["ids"];
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < ids.size(); ++i) all.push_back(ids.at(i).id());
  return all;
}

PairForm read_pair(const JsonPlace& pair, const JsonPlace& specials) {
  PairForm form;
  auto* to = &form.before;
  for (std::size_t i = 0; i < pair.size(); ++i) {
    const auto item = pair.at(i);
    const bool is_text = item["Sequence"].exists();
    const auto type = item[is_text ? "Sequence" : "SpecialToken"]["type_id"];
    if (type.exists() && type.id() > 255) type.fail("expected a type from 0 to 255");
    const auto own = static_cast<std::uint8_t>(type.exists() ? type.id() : 0);
    if (!is_text) {
      for (const auto id : special_ids(item, specials)) to->push_back({id, own});
      continue;
    }
    const bool is_first = to == &form.before;
    if (to == &form.after || item["Sequence"]["id"].text() != (is_first ? "A" : "B"))
      item.fail("a pair is supported as the text A before the text B, once each");
    (is_first ? form.first : form.second) = own;
    to = is_first ? &form.between : &form.after;
  }
  if (to != &form.after) pair.fail("a text is missing");
  return form;
}

void read_template(const JsonPlace& place, TokenizerParts& parts) {
  const auto single = place["single"];
  const auto specials = place["special_tokens"];
  auto* to = &parts.begin;
  bool has_text = false;
  for (std::size_t i = 0; i < single.size(); ++i) {
    const auto item = single.at(i);
    if (item["Sequence"].exists()) {
      if (has_text) item.fail("a second text is not supported");
      has_text = true;
      to = &parts.end;
      continue;
    }
    const auto ids = special_ids(item, specials);
    to->insert(to->end(), ids.begin(), ids.end());
  }
  if (place["pair"].exists() && place["pair"].size() > 0) parts.pair = read_pair(place["pair"], specials);
}

/// Returns a token without spaces before signs, as transformers cleans up what WordPiece decodes.
std::string cleaned_up(std::string text) {
  constexpr std::pair<const char*, const char*> changes[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (auto& [from, to] : changes) {
    std::string result;
    normal::replace(from, to)(text, result);
    text.swap(result);
  }
  return text;
}

void decode_word_pieces(const JsonPlace& place, TokenizerParts& parts) {
  const std::string prefix = place["prefix"].text_or("##");
  const bool cleans = place["cleanup"].flag_or(true);
  parts.first_texts = parts.names;
  for (std::size_t id = 0; id < parts.names.size(); ++id) {
    const auto& name = parts.names[id];
    auto& text = parts.texts[id];
    text = name.starts_with(prefix) ? name.substr(prefix.size()) : " " + name;
    if (!cleans) continue;
    text = cleaned_up(std::move(text));
    parts.first_texts[id] = cleaned_up(name);
  }
}

/// Changes the texts of all tokens.
template <class Change>
void change_texts(TokenizerParts& parts, Change&& change) {
  for (auto& text : parts.texts) change(text);
}

void replace_in_texts(TokenizerParts& parts, std::string_view from, std::string_view by) {
  const auto step = normal::replace(std::string(from), std::string(by));
  std::string result;
  change_texts(parts, [&](std::string& text) {
    step(text, result);
    text.swap(result);
  });
}

void decode_metaspace(const JsonPlace& place, TokenizerParts& parts) {
  const std::string sign = place["replacement"].text_or("▁");
  if (prepend_of(place) == split::Prepend::never) return replace_in_texts(parts, sign, " ");
  parts.first_texts = parts.texts;
  replace_in_texts(parts, sign, "");
  parts.texts.swap(parts.first_texts);
  replace_in_texts(parts, sign, " ");
}

void add_decoder(const JsonPlace& place, TokenizerParts& parts) {
  const auto type = place["type"].text();
  if (type == "ByteLevel" || type == "Fuse") return;  // the model's reader has made bytes of the names
  if (type == "WordPiece") return decode_word_pieces(place, parts);
  if (type == "Metaspace") return decode_metaspace(place, parts);
  if (type == "Replace") {
    const JsonPattern pattern(place["pattern"]);
    if (pattern.is_regex) pattern.place.fail("a regular expression is not supported in a decoder");
    return replace_in_texts(parts, pattern.text, place["content"].text());
  }
  if (type == "ByteFallback") {
    return change_texts(parts, [](std::string& text) {
      if (const auto byte = byte_of_name(text)) text.assign(1, static_cast<char>(*byte));
    });
  }
  if (type == "Strip") {
    if (place["content"].text() != " " || place["start"].id() > 1 || place["stop"].id() != 0)
      place.fail("only one space at the beginning can be stripped");
    parts.strips_first_space = place["start"].id() == 1;
    return;
  }
  place["type"].unsupported("ByteLevel, WordPiece, Metaspace, Replace, ByteFallback, Fuse, Strip and Sequence are");
}

}  // namespace

void read_normalizer(const JsonPlace& place, Normalizer& normalizer) {
  each_step(place, "normalizers", [&](const JsonPlace& step) { add_normalizer(step, normalizer); });
}

bool read_splitter(const JsonPlace& place, Splitter& splitter) {
  bool is_bytes = false;
  each_step(place, "pretokenizers", [&](const JsonPlace& step) {
    if (is_bytes) step.fail("a step behind ByteLevel is not supported");
    is_bytes = add_splitter(step, splitter);
  });
  return is_bytes;
}

void read_post_processor(const JsonPlace& place, TokenizerParts& parts) {
  each_step(place, "processors", [&](const JsonPlace& step) {
    const auto type = step["type"].text();
    if (type == "ByteLevel") return;
    if (type == "TemplateProcessing") return read_template(step, parts);
    if (type != "BertProcessing" && type != "RobertaProcessing")
      step["type"].unsupported("TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel and Sequence are");
    if (step["cls"].size() != 2 || step["sep"].size() != 2) step.fail("cls and sep are a text and an id");
    const auto begin = step["cls"].at(1).id(), end = step["sep"].at(1).id();
    parts.begin.push_back(begin);
    parts.end.push_back(end);
    if (type == "BertProcessing")
      parts.pair = PairForm{.before = {{begin, 0}}, .between = {{end, 0}}, .after = {{end, 1}}};
    else
      parts.pair = PairForm{.before = {{begin, 0}}, .between = {{end, 0}, {end, 0}}, .after = {{end, 0}}, .second = 0};
  });
}

void read_decoder(const JsonPlace& place, TokenizerParts& parts) {
  each_step(place, "decoders", [&](const JsonPlace& step) { add_decoder(step, parts); });
}

}  // namespace flowtrain

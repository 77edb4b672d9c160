#include "sampling/tokens/json_steps.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sampling/tokens/byte_alphabet.h"
#include "sampling/tokens/character_map.h"
#include "sampling/tokens/unicode.h"

namespace flowtrain {
namespace {

/// Calls `make`, and turns an std::invalid_argument into the error of a place.
template <class Make>
auto at_place(const JsonPlace& place, Make make) {
  try {
    return make();
  } catch (const std::invalid_argument& error) {
    place.refuse(error.what());
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
    const auto prepend = prepend_of(place);
    if (prepend == split::Prepend::first) splitter.mark_begin();
    splitter.add(split::metaspace(place["replacement"].text_or("▁"), prepend, place["split"].flag_or(true)));
  } else if (type == "BertPreTokenizer") {
    splitter.add(split::bert());
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
  } else if (type == "Precompiled") {
    const auto map = place["precompiled_charsmap"];
    const auto bytes = from_base64(map.text());
    if (!bytes) map.fail("expected base64");
    normalizer.add(precompiled_step(CharacterMap(*bytes, map.name())));
  } else {
    place["type"].unsupported(
        "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Precompiled, BertNormalizer and "
        "Sequence are");
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

/// Reads "single" or "pair" of "TemplateProcessing".
std::vector<TemplateItem> read_items(const JsonPlace& list, const JsonPlace& specials) {
  std::vector<TemplateItem> items;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto item = list.at(i);
    if (const auto sequence = item["Sequence"]; sequence.exists()) {
      const auto name = sequence["id"].text();
      if (name != "A" && name != "B") sequence["id"].unsupported("A and B are");
      items.push_back({name == "A" ? TemplateItem::first : TemplateItem::second, 0, sequence["type_id"].id()});
      continue;
    }
    const auto special = item["SpecialToken"];
    const std::string name(special["id"].text());
    const auto ids = specials[name.c_str()]["ids"];
    for (std::size_t k = 0; k < ids.size(); ++k)
      items.push_back({TemplateItem::token, ids.at(k).id(), special["type_id"].id()});
  }
  return items;
}

void read_template(const JsonPlace& place, TokenizerParts& parts) {
  const auto single = place["single"];
  auto* to = &parts.begin;
  for (const auto& item : read_items(single, place["special_tokens"])) {
    if (item.kind == TemplateItem::token) {
      to->push_back(item.id);
      continue;
    }
    if (item.kind == TemplateItem::second || to == &parts.end) single.fail("expected one text, A");
    to = &parts.end;
  }
  const auto pair = place["pair"];
  if (!pair.exists()) return;
  parts.pair = read_items(pair, place["special_tokens"]);
  for (const auto kind : {TemplateItem::first, TemplateItem::second})
    if (std::ranges::count(parts.pair, kind, &TemplateItem::kind) != 1) pair.fail("expected two texts, A and B");
}

/// Reads "BertProcessing" and "RobertaProcessing".
void read_pair_of_bert(const JsonPlace& place, bool is_roberta, TokenizerParts& parts) {
  if (place["cls"].size() != 2 || place["sep"].size() != 2) place.fail("cls and sep are a text and an id");
  const auto begin = place["cls"].at(1).id(), end = place["sep"].at(1).id();
  parts.begin.push_back(begin);
  parts.end.push_back(end);
  using enum TemplateItem::Kind;
  const std::uint32_t second_type = is_roberta ? 0 : 1;
  parts.pair = {{token, begin, 0}, {first, 0, 0}, {token, end, 0}};
  if (is_roberta) parts.pair.push_back({token, end, 0});
  parts.pair.push_back({second, 0, second_type});
  parts.pair.push_back({token, end, second_type});
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
  if (parts.first_texts.empty()) parts.first_texts = parts.texts;
  for (auto& text : parts.texts) {
    if (text.starts_with(prefix))
      text.erase(0, prefix.size());
    else
      text.insert(0, 1, ' ');
    if (cleans) text = cleaned_up(std::move(text));
  }
  for (auto& text : parts.first_texts)
    if (cleans) text = cleaned_up(std::move(text));
}

/// Changes the texts of all tokens, also where they begin a text.
template <class Change>
void change_texts(TokenizerParts& parts, Change&& change) {
  for (auto* texts : {&parts.texts, &parts.first_texts})
    for (auto& text : *texts) change(text);
}

void replace_in(std::vector<std::string>& texts, const std::string& from, const std::string& by) {
  const auto step = normal::replace(from, by);
  std::string result;
  for (auto& text : texts) {
    step(text, result);
    text.swap(result);
  }
}

void replace_in_texts(TokenizerParts& parts, const std::string& from, const std::string& by) {
  replace_in(parts.texts, from, by);
  replace_in(parts.first_texts, from, by);
}

void decode_metaspace(const JsonPlace& place, TokenizerParts& parts) {
  const std::string sign = place["replacement"].text_or("▁");
  if (prepend_of(place) == split::Prepend::never) return replace_in_texts(parts, sign, " ");
  if (parts.first_texts.empty()) parts.first_texts = parts.texts;
  replace_in(parts.first_texts, sign, "");
  replace_in_texts(parts, sign, " ");
}

/// Adds a step, which changes the text of each token: or that of all, once they are fused, where only a space at the
/// beginning can be stripped.
void add_decoder(const JsonPlace& place, TokenizerParts& parts, bool& fused) {
  const auto type = place["type"].text();
  if (fused && type != "Strip" && type != "Fuse")
    place.refuse("a step behind Fuse or ByteLevel other than Strip is not supported");
  if (type == "Fuse") {
    fused = true;
    return;
  }
  if (type == "ByteLevel") {
    fused = true;
    return change_texts(parts, [](std::string& text) {
      if (auto bytes = from_byte_alphabet(text)) text = std::move(*bytes);
    });
  }
  if (type == "WordPiece") return decode_word_pieces(place, parts);
  if (type == "Metaspace") return decode_metaspace(place, parts);
  if (type == "Replace") {
    const JsonPattern pattern(place["pattern"]);
    if (pattern.is_regex) pattern.place.refuse("a regular expression is not supported in a decoder");
    return replace_in_texts(parts, std::string(pattern.text), std::string(place["content"].text()));
  }
  if (type == "ByteFallback") {
    return change_texts(parts, [](std::string& text) {
      if (const auto byte = byte_of_name(text)) text.assign(1, static_cast<char>(*byte));
    });
  }
  if (type == "Strip") {
    if (place["content"].text() != " " || place["start"].id() > 1 || place["stop"].id() != 0)
      place.refuse("only one space at the beginning can be stripped");
    const bool strips = place["start"].id() == 1;
    if (fused) {
      parts.strips_first_space |= strips;
    } else if (strips) {
      change_texts(parts, [](std::string& text) {
        if (text.starts_with(' ')) text.erase(0, 1);
      });
    }
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
    if (is_bytes) step.refuse("a step behind ByteLevel is not supported");
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
    read_pair_of_bert(step, type == "RobertaProcessing", parts);
  });
}

void read_decoder(const JsonPlace& place, TokenizerParts& parts) {
  bool fused = false;
  if (place.exists())
    return each_step(place, "decoders", [&](const JsonPlace& step) { add_decoder(step, parts, fused); });
  parts.texts = parts.first_texts = parts.names;  // no decoder: a blank stands between tokens
  for (auto& text : parts.texts) text.insert(0, 1, ' ');
}

}  // namespace flowtrain

// Reads Hugging Face's tokenizer.json (github.com/huggingface/tokenizers).
#include "sampling/tokens/json_steps.h"

#include <rapidjson/error/en.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sampling/tokens/byte_alphabet.h"

namespace flowtrain {
namespace {

/// Reads {"text": id, …}. Members of a vocabulary are many, so a place is made only for a wrong one.
void read_vocabulary(const JsonPlace& place, Vocabulary& vocabulary, TokenizerParts& parts, bool by_bytes) {
  for (const auto& member : place.object().GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    const bool is_id = member.value.IsUint() && member.value.GetUint() < max_token_id;
    const auto bytes = by_bytes ? from_byte_alphabet(name) : std::nullopt;
    if (!is_id || (bytes ? bytes->size() : name.size()) > max_token_bytes)
      place.fail(
          concat("expected texts of up to ", max_token_bytes, " bytes and their ids, from 0 to ", max_token_id - 1));
    const std::uint32_t id = member.value.GetUint();
    if (!vocabulary.add(bytes ? *bytes : name, id)) place.fail(concat("the id ", id, " or its text is there twice"));
    parts.put(id, std::string(name), std::string(name));
  }
}

std::uint32_t optional_token(const JsonPlace& place, const Vocabulary& vocabulary) {
  if (!place.exists()) return no_token;
  const auto id = vocabulary.find(place.text());
  if (id == no_token) place.fail(concat("'", place.text(), "' is not in the vocabulary"));
  return id;
}

void read_merges(const JsonPlace& merges, bool by_bytes, PairModel& model) {
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const rapidjson::Value& merge = merges.list()[rank];
    std::string_view left, right;
    if (merge.IsString()) {
      const std::string_view both(merge.GetString(), merge.GetStringLength());
      const auto blank = both.find(' ');
      if (blank == both.npos || both.find(' ', blank + 1) != both.npos) merges.at(rank).fail("expected two texts");
      left = both.substr(0, blank);
      right = both.substr(blank + 1);
    } else {
      if (merges.at(rank).size() != 2) merges.at(rank).fail("expected two texts");
      left = merges.at(rank).at(0).text();
      right = merges.at(rank).at(1).text();
    }
    const auto bytes_of = [&](std::string_view text) {
      auto bytes = by_bytes ? from_byte_alphabet(text) : std::nullopt;
      return bytes ? *bytes : std::string(text);
    };
    const std::string a = bytes_of(left), b = bytes_of(right);
    const auto first = model.vocabulary.find(a), second = model.vocabulary.find(b), both = model.vocabulary.find(a + b);
    if (first == no_token || second == no_token || both == no_token)
      merges.at(rank).fail("a text, or the two together, are not in the vocabulary");
    model.merges[PairModel::pair_key(first, second)] = {rank, both};
  }
}

void find_byte_tokens(std::array<std::uint32_t, 256>& bytes, const JsonPlace& place, const Vocabulary& vocabulary) {
  for (unsigned byte = 0; byte < 256; ++byte)
    bytes[byte] = vocabulary.find(name_of_byte(static_cast<std::uint8_t>(byte)));
  if (std::ranges::find(bytes, no_token) != bytes.end()) place.fail("true needs <0x00> to <0xFF> in the vocabulary");
}

std::unique_ptr<WordModel> read_pair_model(const JsonPlace& place, TokenizerParts& parts, bool by_bytes) {
  auto model = std::make_unique<PairModel>();
  if (place["dropout"].exists() && place["dropout"].number() != 0) place["dropout"].refuse("dropout is not supported");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!place[key].text_or("").empty()) place[key].refuse("a prefix or suffix is not supported");
  read_vocabulary(place["vocab"], model->vocabulary, parts, by_bytes);
  read_merges(place["merges"], by_bytes, *model);
  model->by_bytes = by_bytes;
  model->takes_whole_words = place["ignore_merges"].flag_or(false);
  model->unknown = optional_token(place["unk_token"], model->vocabulary);
  model->fuses_unknown = place["fuse_unk"].flag_or(false);
  if (by_bytes)
    for (unsigned byte = 0; byte < 256; ++byte) {
      const char text = static_cast<char>(byte);
      model->bytes[byte] = model->vocabulary.find({&text, 1});
    }
  else if (place["byte_fallback"].flag_or(false))
    find_byte_tokens(model->bytes, place["byte_fallback"], model->vocabulary);
  model->finish();
  return model;
}

std::unique_ptr<WordModel> read_word_pieces(const JsonPlace& place, TokenizerParts& parts) {
  Vocabulary vocabulary;
  read_vocabulary(place["vocab"], vocabulary, parts, false);
  auto model = std::make_unique<WordPieceModel>(vocabulary, place["continuing_subword_prefix"].text_or("##"));
  model->unknown = vocabulary.find(place["unk_token"].text_or("[UNK]"));
  if (model->unknown == no_token) place["unk_token"].fail("it is not in the vocabulary");
  if (const auto most = place["max_input_chars_per_word"]; most.exists()) model->most_characters = most.id();
  return model;
}

std::unique_ptr<WordModel> read_unigram(const JsonPlace& place, TokenizerParts& parts) {
  auto model = std::make_unique<UnigramModel>();
  Vocabulary names;
  const auto vocabulary = place["vocab"];
  if (vocabulary.size() >= max_token_id) vocabulary.fail("it has too many tokens");
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    const auto pair = vocabulary.at(id);
    if (pair.size() != 2) pair.fail("expected a text and a number");
    const std::string name(pair.at(0).text());
    model->scores.push_back(pair.at(1).number());
    parts.put(id, name, name);
    names.add(name, id);
    model->pieces.add(name, id);
  }
  if (!model->scores.empty()) model->least = *std::ranges::min_element(model->scores);
  if (!place["unk_id"].exists()) place.fail("unk_id is missing");
  model->unknown = place["unk_id"].id();
  if (model->unknown >= model->scores.size()) place["unk_id"].fail("it is not in the vocabulary");
  if (place["byte_fallback"].flag_or(false)) find_byte_tokens(model->bytes, place["byte_fallback"], names);
  return model;
}

std::unique_ptr<WordModel> read_model(const JsonPlace& place, TokenizerParts& parts, bool by_bytes) {
  const auto type = place["type"];
  // Files of older versions name no type.
  const std::string name = type.text_or(place["merges"].exists() ? "BPE" : "WordPiece");
  if (name == "BPE") return read_pair_model(place, parts, by_bytes);
  if (by_bytes) place.refuse("ByteLevel goes with the model BPE only");
  if (name == "WordPiece") return read_word_pieces(place, parts);
  if (name == "Unigram") return read_unigram(place, parts);
  type.unsupported("BPE, WordPiece and Unigram are");
}

void read_added_tokens(const JsonPlace& place, TokenizerParts& parts) {
  if (!place.exists() || place.size() == 0) return;
  std::unordered_map<std::string, std::uint32_t> ids;  // The vocabulary and the added tokens so far have them.
  for (std::uint32_t id = 0; id < parts.names.size(); ++id)
    if (!parts.names[id].empty()) ids.emplace(parts.names[id], id);
  for (std::size_t i = 0; i < place.size(); ++i) {
    const auto each = place.at(i);
    AddedToken token{.text = std::string(each["content"].text()),
                     .id = each["id"].id(),
                     .special = each["special"].flag_or(false),
                     .single_word = each["single_word"].flag_or(false),
                     .left_strips = each["lstrip"].flag_or(false),
                     .right_strips = each["rstrip"].flag_or(false),
                     .normalized = each["normalized"].flag_or(true)};
    if (token.text.size() > max_token_bytes) each.fail(concat("it is longer than ", max_token_bytes, " bytes"));
    if (const auto [known, is_new] = ids.emplace(token.text, token.id); !is_new && known->second != token.id)
      each["id"].fail(concat("'", token.text, "' has the id ", known->second, " already"));
    if (token.id < parts.names.size() && !parts.names[token.id].empty() && parts.names[token.id] != token.text)
      each["id"].fail(concat("the id ", token.id, " is that of '", parts.names[token.id], "'"));
    if (token.special)
      parts.put_special(token.text, token.id);
    else
      parts.put(token.id, token.text, token.text);
    if (token.normalized && !parts.normalizer.empty()) {
      std::string first, second;
      token.text = parts.normalizer.apply(token.text, first, second);
      parts.normalized.add(std::move(token));
    } else {
      parts.raw.add(std::move(token));
    }
  }
}

}  // namespace

TokenizerParts read_tokenizer_json(std::string_view bytes, const std::string& name) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(bytes.data(), bytes.size());
  if (document.HasParseError())
    throw UserError(ExitCode::data,
                    concat(name, ": malformed JSON at byte ", document.GetErrorOffset(), ": ",
                           rapidjson::GetParseError_En(document.GetParseError())),
                    "fetch the file again");
  const JsonPlace root(&document, name, "");
  TokenizerParts parts;
  read_normalizer(root["normalizer"], parts.normalizer);
  const bool by_bytes = read_splitter(root["pre_tokenizer"], parts.splitter);
  parts.model = read_model(root["model"], parts, by_bytes);
  read_added_tokens(root["added_tokens"], parts);
  read_decoder(root["decoder"], parts);
  read_post_processor(root["post_processor"], parts);
  const auto known = [&](std::uint32_t id) { return id < parts.names.size(); };
  if (!std::ranges::all_of(parts.begin, known) || !std::ranges::all_of(parts.end, known) ||
      !std::ranges::all_of(parts.pair, known, &TemplateItem::id))
    root["post_processor"].fail("an id is not in the vocabulary");
  return parts;
}

}  // namespace flowtrain

// Reads models of SentencePiece (github.com/google/sentencepiece, sentencepiece_model.proto): BPE and unigram.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/tokens/character_map.h"
#include "sampling/tokens/piece_tokenizer.h"
#include "sampling/tokens/protobuf.h"

namespace flowtrain {
namespace {

constexpr std::string_view sentence_space = "\xe2\x96\x81";  // U+2581

enum class PieceType : std::uint64_t { normal = 1, unknown = 2, control = 3, user = 4, unused = 5, byte = 6 };
enum class ModelType : std::uint64_t { unigram = 1, bpe = 2, word = 3, character = 4 };

struct Piece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::normal;
};

struct Model {
  std::vector<Piece> pieces;
  ModelType type = ModelType::unigram;
  bool byte_fallback = false;
  std::string unknown_text = " \xe2\x81\x87 ";
  std::string map;  ///< precompiled_charsmap
  bool adds_space = true, removes_spaces = true, escapes_spaces = true, space_is_suffix = false;
};

Piece read_piece(Protobuf message) {
  Piece piece;
  while (message.next()) {
    if (message.field() == 1) piece.text = message.bytes();
    if (message.field() == 2) piece.score = message.real();
    if (message.field() == 3) piece.type = static_cast<PieceType>(message.number());
  }
  return piece;
}

Model read_model(Protobuf message, const std::string& name) {
  Model model;
  bool has_trainer = false, has_normalizer = false;
  while (message.next()) {
    if (message.field() == 1) {
      if (model.pieces.size() >= max_token_id) message.fail("there are too many pieces");
      model.pieces.push_back(read_piece(message.inner()));
    } else if (message.field() == 2) {
      has_trainer = true;
      for (auto spec = message.inner(); spec.next();) {
        if (spec.field() == 3) model.type = static_cast<ModelType>(spec.number());
        if (spec.field() == 24) model.space_is_suffix = spec.number() != 0;
        if (spec.field() == 35) model.byte_fallback = spec.number() != 0;
        if (spec.field() == 44) model.unknown_text = spec.bytes();
      }
    } else if (message.field() == 3) {
      has_normalizer = true;
      for (auto spec = message.inner(); spec.next();) {
        if (spec.field() == 2) model.map = spec.bytes();
        if (spec.field() == 3) model.adds_space = spec.number() != 0;
        if (spec.field() == 4) model.removes_spaces = spec.number() != 0;
        if (spec.field() == 5) model.escapes_spaces = spec.number() != 0;
      }
    }
  }
  const auto refuse = [&](const std::string& what, const char* hint = "use a model of type BPE or unigram") {
    throw UserError(ExitCode::data, concat(name, ": ", what), hint);
  };
  if (model.pieces.empty()) refuse("it has no pieces");
  if (!has_trainer || !has_normalizer)
    refuse("the settings behind the pieces are missing: the file is cut", "copy the model again");
  if (model.type == ModelType::word) refuse("models of words are not supported");
  if (model.type != ModelType::unigram && model.type != ModelType::bpe)
    refuse("models of characters are not supported");
  if (model.space_is_suffix) refuse("treat_whitespace_as_suffix is not supported", "train the model without it");
  if (!model.escapes_spaces) refuse("escape_whitespaces = false is not supported", "train the model without it");
  for (const Piece& piece : model.pieces) {
    if (piece.text.empty() || piece.text.size() > max_token_bytes) refuse("a piece is empty or too long");
    if (piece.type == PieceType::unused) refuse("pieces that are not used are not supported");
    if (!std::isfinite(piece.score)) refuse("a score is no number");
  }
  return model;
}

/// Ids of the pieces' kinds.
struct Ids {
  std::uint32_t unknown = no_token;
  std::array<std::uint32_t, 256> bytes;
};

/// Writes the pieces' names and texts.
Ids put_pieces(const Model& model, const std::string& name, TokenizerParts& parts) {
  Ids ids;
  ids.bytes.fill(no_token);
  const auto spaces = normal::replace(std::string(sentence_space), " ");
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    std::string text;
    spaces(piece.text, text);
    switch (piece.type) {
      case PieceType::control: parts.put_special(piece.text, id); continue;
      case PieceType::unknown:
        ids.unknown = id;
        text = model.unknown_text;
        break;
      case PieceType::byte:
        if (const auto byte = byte_of_name(piece.text)) {
          ids.bytes[*byte] = id;
          text.assign(1, static_cast<char>(*byte));
        }
        break;
      default: break;
    }
    parts.put(id, piece.text, std::move(text));
  }
  if (ids.unknown == no_token) throw UserError(ExitCode::data, name + ": it has no unknown piece");
  if (model.byte_fallback && std::ranges::find(ids.bytes, no_token) != ids.bytes.end())
    throw UserError(ExitCode::data, name + ": byte_fallback needs a piece for each byte");
  if (!model.byte_fallback && std::ranges::any_of(ids.bytes, [](auto id) { return id != no_token; }))
    throw UserError(ExitCode::data, name + ": there are pieces of bytes, but byte_fallback is false");
  return ids;
}

bool is_text(const Piece& piece) { return piece.type == PieceType::normal || piece.type == PieceType::user; }

std::unique_ptr<WordModel> make_pairs(const Model& model, const Ids& ids) {
  auto pairs = std::make_unique<PairModel>();
  pairs->by_bytes = false;
  pairs->unknown = ids.unknown;
  pairs->fuses_unknown = true;
  pairs->bytes = ids.bytes;
  pairs->text_ids = model.pieces.size();
  std::vector<float> scores;
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    if (piece.type == PieceType::normal) {
      pairs->vocabulary.add(piece.text, id);
      scores.push_back(piece.score);
    }
    if (piece.type == PieceType::user) pairs->frozen.add(piece.text, id);
  }
  std::ranges::sort(scores, std::greater<>());
  // Characters that are no piece of their own may be parts of one.
  Vocabulary symbols = pairs->vocabulary;
  for (const Piece& piece : model.pieces) {
    if (piece.type != PieceType::normal) continue;
    for (std::size_t at = 0; at < piece.text.size();) {
      const auto [code, bytes] = unicode::character_at(piece.text, at);
      const auto character = std::string_view(piece.text).substr(at, bytes);
      if (symbols.find(character) == no_token)
        symbols.add(character, static_cast<std::uint32_t>(pairs->text_ids + code));
      at += bytes;
    }
  }
  pairs->merge_all(symbols, [&](std::uint32_t id) {
    const auto place = std::ranges::lower_bound(scores, model.pieces[id].score, std::greater<>());
    return static_cast<std::uint32_t>(place - scores.begin());
  });
  return pairs;
}

std::unique_ptr<WordModel> make_unigram(const Model& model, const Ids& ids) {
  auto unigram = std::make_unique<UnigramModel>();
  unigram->single_precision = true;
  unigram->unknown = ids.unknown;
  unigram->bytes = ids.bytes;
  // A symbol of the user has the score bytes * most - 0.1, so that it wins, and the greatest score is at least 0.1, as
  // version 0.2.3 of SentencePiece has it. Earlier ones began with the least positive number.
  float least = std::numeric_limits<float>::max(), most = 0.1f;
  for (const Piece& piece : model.pieces)
    if (piece.type == PieceType::normal) {
      least = std::min(least, piece.score);
      most = std::max(most, piece.score);
    }
  unigram->least = least;
  unigram->scores.resize(model.pieces.size());
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    if (!is_text(piece)) continue;
    unigram->scores[id] = piece.type == PieceType::user
                              ? static_cast<float>(static_cast<float>(piece.text.size()) * most - 0.1)
                              : piece.score;
    unigram->pieces.add(piece.text, id);
  }
  return unigram;
}

}  // namespace

TokenizerParts read_sentencepiece(std::string_view bytes, const std::string& name) {
  const Model model = read_model(Protobuf(bytes, name), name);
  TokenizerParts parts;
  const Ids ids = put_pieces(model, name, parts);
  parts.model = model.type == ModelType::bpe ? make_pairs(model, ids) : make_unigram(model, ids);
  TextTree users;
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id)
    if (model.pieces[id].type == PieceType::user) users.add(model.pieces[id].text, id);
  parts.normalizer.add(character_map_step(CharacterMap(model.map, name), std::move(users),
                                          {.adds_space = model.adds_space, .removes_spaces = model.removes_spaces}));
  parts.strips_first_space = model.adds_space || model.removes_spaces;
  for (const auto& special : parts.specials) {
    parts.raw.add({.text = special.name, .id = special.id, .special = true});
    if (special.name == "<s>") parts.begin = {special.id};
    if (special.name == "</s>") parts.end = {special.id};
  }
  return parts;
}

}  // namespace flowtrain

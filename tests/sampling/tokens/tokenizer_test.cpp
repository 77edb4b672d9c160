#include "sampling/tokens/tokenizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/tokens/learn/train.h"
#include "sampling/tokens/normalizer.h"
#include "sampling/tokens/text_pattern.h"
#include "tests/sampling/tokens/drawn_texts.h"
#include "tests/support/paths.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::tokenizer_test {
namespace {

using Ids = std::vector<std::uint32_t>;

const char* const story =
    "The lower the newest widest lowest news, the wider the new lows; it's the widest.\nThe newest lows went lower, "
    "and the newest of the widest went lowest.\n";

LearnedPairs learned(const std::string& text, const TokenizerTraining& training) {
  const TempFolder folder;
  return learn_pairs({folder.write("text.txt", text)}, training);
}

std::unique_ptr<Tokenizer> learned_tokenizer(const std::string& pattern = "o200k_base") {
  return parse_tokenizer(
      tokenizer_json(learned(story, {.vocabulary = 300, .pattern = pattern, .special = {"<|end|>", "<|pad|>"}})),
      "own.json");
}

std::string refusal_of(const std::string& bytes) {
  try {
    parse_tokenizer(bytes, "bad.json");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::data);
    return error.what();
  }
  return "";
}

const std::string word_pieces = R"({
  "added_tokens": [
    {"id": 0, "content": "[PAD]", "special": true, "normalized": false},
    {"id": 2, "content": "[CLS]", "special": true, "normalized": false},
    {"id": 3, "content": "[SEP]", "special": true, "normalized": false}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                 "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "un": 4, "##want": 5, "##ed": 6, "cafe": 7,
                      ".": 8, "中": 9}}})";

/// Appends the ids of two texts by the tokenizer's template, and their types.
void encode_pair(const Tokenizer& tokenizer, std::string_view first, std::string_view second, Ids& ids, Ids& types,
                 bool add_special) {
  for (const TemplateItem& item : tokenizer.pair_template()) {
    const std::size_t before = ids.size();
    if (item.kind != TemplateItem::token)
      tokenizer.encode(item.kind == TemplateItem::first ? first : second, ids);
    else if (add_special)
      ids.push_back(item.id);
    types.insert(types.end(), ids.size() - before, item.type);
  }
}

}  // namespace

TEST_CASE("the tokenizer of bytes gives each byte its number, and ends a text by 256") {
  const auto bytes = open_tokenizer("bytes");
  CHECK(bytes->vocabulary_size() == 257);
  CHECK(bytes->encode(std::string_view("a\0\xff", 3)) == Ids{97, 0, 255});
  CHECK(bytes->encode("a<|endoftext|>", {.add_special = true, .special_text = true}) == Ids{97, 256, 256});
  CHECK(bytes->encode("<|endoftext|>").size() == 13);
  CHECK(bytes->decode(Ids{97, 256, 255, 9999}) == "a\xff");
  CHECK(bytes->decode(Ids{97, 256}, true) == "a<|endoftext|>");
  CHECK(bytes->special("<|endoftext|>") == 256u);
  CHECK(bytes->token(10) == "<0x0A>");
}

TEST_CASE("a vocabulary that is learned gives all texts back, broken UTF-8 too") {
  for (const char* pattern : pattern_names) {
    const auto tokenizer = learned_tokenizer(pattern);
    CHECK(tokenizer->vocabulary_size() <= 300);
    CHECK(tokenizer->encode(" newest").size() < 4);
    test::DrawnTexts texts(3);
    for (int i = 0; i < 200; ++i) {
      std::string text = texts.text(1 + texts.below(30));
      for (std::size_t broken = texts.below(4); broken > 0; --broken)
        text[texts.below(text.size())] = static_cast<char>(texts.below(256));
      REQUIRE(tokenizer->decode(tokenizer->encode(text)) == text);
    }
  }
}

TEST_CASE("long words are merged like short ones") {
  const auto tokenizer = learned_tokenizer();
  std::string word;
  for (int i = 0; i < 400; ++i) word += "newestlower";
  const auto whole = tokenizer->encode(word);
  CHECK(tokenizer->decode(whole) == word);
  const auto once = tokenizer->encode("newestlower");
  Ids repeated;
  for (int i = 0; i < 400; ++i) repeated.insert(repeated.end(), once.begin(), once.end());
  CHECK(whole.size() <= repeated.size());
  for (std::size_t length = 2; length < 200; ++length) {  // heap and scan agree across their border
    const auto text = word.substr(0, length);
    REQUIRE(tokenizer->decode(tokenizer->encode(text)) == text);
  }
}

TEST_CASE("special tokens within a text count only where they are asked for") {
  const auto tokenizer = learned_tokenizer();
  CHECK(tokenizer->special("<|end|>") == 0u);
  CHECK(tokenizer->encode("<|end|><|pad|>", {.special_text = true}) == Ids{0, 1});
  CHECK(tokenizer->encode("<|end|>").size() > 2);
  const auto ids = tokenizer->encode("low<|end|>", {.special_text = true});
  CHECK(ids.back() == 0);
  CHECK(tokenizer->decode(ids) == "low");
  CHECK(tokenizer->decode(ids, true) == "low<|end|>");
  CHECK(told_special_tokens(*tokenizer) == "it has <|end|>, <|pad|>");
}

TEST_CASE("white space that an added token takes may be another one") {
  const auto tokenizer = parse_tokenizer(
      R"({"added_tokens": [{"id": 3, "content": "<B>", "rstrip": true, "normalized": false},
                           {"id": 4, "content": "    ", "normalized": false}],
          "pre_tokenizer": {"type": "WhitespaceSplit"},
          "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "x": 1, "y": 2}}})",
      "own.json");
  CHECK(tokenizer->encode("y<B>    x") == Ids{2, 3, 4, 1});
  CHECK(tokenizer->encode("<B>     x<B>") == Ids{3, 4, 1, 3});
  CHECK(tokenizer->encode("<B>   x") == Ids{3, 1});
}

TEST_CASE("a stream of ids gives the text in whole characters") {
  const auto tokenizer = learned_tokenizer();
  test::DrawnTexts texts(5);
  for (int i = 0; i < 50; ++i) {
    const std::string text = texts.text(20);
    TextStream stream(*tokenizer);
    std::string all;
    for (const auto id : tokenizer->encode(text)) {
      const std::string part(stream.push(id));
      if (!part.empty()) REQUIRE(unicode::character_before(part, part.size()).code != unicode::broken);
      all += part;
    }
    all += stream.finish();
    REQUIRE(all == text);
  }
  const auto pieces = parse_tokenizer(word_pieces, "bert.json");
  TextStream stream(*pieces);
  std::string all;
  for (const auto id : pieces->encode("Unwanted café.", {.add_special = true})) all += stream.push(id);
  CHECK(all + std::string(stream.finish()) == "unwanted cafe.");
}

TEST_CASE("WordPiece takes the longest pieces, and normalizes as BERT does") {
  const auto tokenizer = parse_tokenizer(word_pieces, "bert.json");
  CHECK(tokenizer->encode("UNwanted\tcaf\u00e9.", {.add_special = true}) == Ids{2, 4, 5, 6, 7, 8, 3});
  CHECK(tokenizer->encode("\u4e2d\u4e2d x[SEP]") == Ids{9, 9, 1, 1, 1, 1});
  CHECK(tokenizer->encode("x[SEP]", {.special_text = true}) == Ids{1, 3});
  CHECK(tokenizer->decode(Ids{2, 4, 5, 6, 7, 8, 3}) == "unwanted cafe.");
  CHECK(tokenizer->special_tokens().size() == 3);
  CHECK(tokenizer->begin().front() == 2);
}

TEST_CASE("characters of newer Unicode are punctuation and marks for WordPiece where its reference knows them") {
  const auto tokenizer = parse_tokenizer(word_pieces, "bert.json");
  CHECK(tokenizer->encode("cafe\u0301.") == Ids{7, 8});
  CHECK(tokenizer->encode("un\u061dun") == Ids{1});  // punctuation since Unicode 14, not there
  CHECK(tokenizer->encode("un\u060cun") == Ids{4, 1, 4});
  CHECK(tokenizer->encode("un\u0898") == Ids{1});  // a mark since Unicode 14, kept there
}

TEST_CASE("two texts have the tokens and types that the file prescribes") {
  std::string text = word_pieces;
  const auto encode = [&](bool add_special) {
    std::vector<std::uint32_t> ids, types;
    encode_pair(*parse_tokenizer(text, "bert.json"), "un.", "cafe", ids, types, add_special);
    return std::pair(ids, types);
  };
  CHECK(encode(true) == std::pair(Ids{2, 4, 8, 3, 7, 3}, Ids{0, 0, 0, 0, 1, 1}));
  CHECK(encode(false) == std::pair(Ids{4, 8, 7}, Ids{0, 0, 1}));
  const auto at = text.find("\"post_processor\""), end = text.find("\"decoder\"");
  text.replace(at, end - at,
               R"("post_processor": {"type": "RobertaProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
  )");
  CHECK(encode(true) == std::pair(Ids{2, 4, 8, 3, 3, 7, 3}, Ids{0, 0, 0, 0, 0, 0, 0}));
  std::vector<std::uint32_t> ids{5}, types;
  encode_pair(*byte_tokenizer(), "a", "b", ids, types, true);
  CHECK(ids == Ids{5, 97, 256, 98, 256});
  CHECK(types == Ids{0, 0, 1, 1});
}

TEST_CASE("learned tokens are at most 256 bytes long, so that a long row of spaces is read again") {
  const auto pairs = learned("x" + std::string(100'000, ' ') + "x" + std::string(60'000, ' '),
                             {.vocabulary = 400, .pattern = "gpt2", .least_count = 1});
  const auto tokenizer = parse_tokenizer(tokenizer_json(pairs), "own.json");
  std::size_t longest = 0;
  for (std::uint32_t id = 0; id < tokenizer->vocabulary_size(); ++id)
    longest = std::max(longest, tokenizer->decode({&id, 1}).size());
  CHECK(longest == 256);
}

TEST_CASE("a rank file's pairs merge by rank, and a whole word of it is one token") {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto base64 = [&](std::string_view bytes) {
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < 3; ++i)
        bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
      for (std::size_t i = 0; i < 4; ++i) text += at + i <= bytes.size() ? digits[bits >> (18 - 6 * i) & 63] : '=';
    }
    return text;
  };
  std::string file;
  for (unsigned byte = 0; byte < 256; ++byte)
    file += base64(std::string(1, static_cast<char>(byte))) + " " + std::to_string(byte) + "\n";
  const std::string all_bytes = file;
  file += base64("bc") + " 256\n" + base64("ab") + " 257\n" + base64("xyz") + " 258\n";
  const auto tokenizer = parse_tokenizer(file, "own.tiktoken", "gpt2");
  CHECK(tokenizer->encode("abc") == Ids{97, 256});
  CHECK(tokenizer->encode("xyz") == Ids{258});
  CHECK(tokenizer->encode("xyzx") == Ids{120, 121, 122, 120});
  CHECK(tokenizer->special("<|endoftext|>") == 259u);
  CHECK(refusal_of(all_bytes.substr(7)).find("the byte 0 has no rank") != std::string::npos);
  CHECK(refusal_of(all_bytes + "AA== x\n").find("bad.json:257: expected base64") != std::string::npos);
  CHECK(refusal_of(all_bytes + "AA== 300\n").find("bad.json:257: the token or its rank") != std::string::npos);
}

TEST_CASE("what a tokenizer.json has and is not supported is refused at its place") {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = word_pieces;
    const auto at = text.find(from);
    REQUIRE(at != text.npos);
    return refusal_of(text.replace(at, from.size(), to));
  };
  CHECK(changed(R"("type": "BertPreTokenizer")", R"("type": "UnicodeScripts")")
            .starts_with("bad.json: pre_tokenizer.type: 'UnicodeScripts' is not supported, but "));
  CHECK(changed(R"({"type": "BertNormalizer")", R"({"type": "Nmt")")
            .starts_with("bad.json: normalizer.type: 'Nmt' is not supported, but "));
  CHECK(changed(R"("model": {"type": "WordPiece")", R"("model": {"type": "WordLevel")")
            .starts_with("bad.json: model.type: 'WordLevel' is not supported, but "));
  CHECK(changed(R"("##want": 5)", R"("##want": 4)") == "bad.json: model.vocab: the id 4 or its text is there twice");
  CHECK(changed(R"("[UNK]", "cont)", R"("[NO]", "cont)") == "bad.json: model.unk_token: it is not in the vocabulary");
  CHECK(changed(R"("ids": [2])", R"("ids": [77])") == "bad.json: post_processor: an id is not in the vocabulary");
  CHECK(changed(R"("id": 0, )", "").starts_with("bad.json: added_tokens[0].id: expected an id"));
  CHECK(refusal_of(word_pieces.substr(0, 300)).starts_with("bad.json: malformed JSON at byte "));
  CHECK(refusal_of("hello").starts_with("bad.json: neither a tokenizer.json, nor "));
  CHECK(refusal_of("").starts_with("bad.json: neither a tokenizer.json, nor "));
  CHECK(refusal_of("\n\x08junk").starts_with("bad.json: damaged: "));
  CHECK_THROWS_WITH_AS(open_tokenizer("/nonexistent/tokenizer.json"), doctest::Contains("cannot read the tokenizer"),
                       UserError);
}

TEST_CASE("regular expressions find what Oniguruma finds with Ruby's syntax") {
  struct Case {
    std::string pattern, text, replaced;
  };
  // The package tokenizers 0.23 makes these texts of them.
  const std::vector<Case> cases{{R"(^\s)", "a\n b", "a\n_b"},
                                {".$", "ab\ncd", "a_\nc_"},
                                {"^", "a\nb\n", "_a\n_b\n"},
                                {R"(\h+)", "face xyz", "_ xyz"},
                                {R"([^\h]+)", "faxg", "fa_"},
                                {R"(\H+)", "face xyz", "face_"},
                                {"a*", "bab", "_b_b_"},
                                {R"(\s*)", "\u00e9 b", "_\u00e9_b_"},
                                {R"(\b)", "ab cd", "_ab_ _cd_"},
                                {R"(x\Kb)", "axb", "ax_"},
                                {"[[:punct:]]+", "a\U0001f600!$b", "a_b"},
                                {"[[:^alpha:]]+", "a\u00e91", "a\u00e9_"},
                                {R"(\u00e9)", "a\u00e9b", "a_b"},
                                {"(?m)a.b", "a\nb", "_"},
                                {"(?m:a.)b", "a\nb", "_"},
                                {"[]a]+", "x]a", "x_"},
                                {R"(\w+)", "\u0928\u092e\u0938\u094d\u0924\u0947 a\u00bd", "_ _"},
                                {R"([\w]+)", "e\u0301 a\u00bd", "_ _\u00bd"},
                                {R"(\W+)", "e\u0301, b", "e\u0301_b"},
                                {R"(\b)", "e\u0301 b", "_e\u0301_ _b_"},
                                {R"([^\W\d_]+)", "a1_e\u0301", "_1__"},
                                {R"([\Sb]+)", "a b", "_ _"},
                                {"[[:word:]]+", "\u200ca_", "\u200c_"},
                                {"[[:upper:]]", "\u24b6a", "_a"},
                                {"[[:graph:]]+", "a\u061c b", "_ _"},
                                {"a{,2}b", "aaab", "a_"},
                                {R"([\W^_]+)", "ab, c_d^", "ab_c_d_"},
                                {R"([\S^])", "a b", "_ _"},
                                {"[[:^alpha:]^x]", "ax1^", "a___"},
                                {R"([^\p{Han}])", "\u65e5\u3001\u672c", "\u65e5_\u672c"},
                                {R"(\p{Katakana}+)", "\u30ab\u30fc", "_\u30fc"},
                                {"(?i)[[:upper:]]+", "abC1", "_1"},
                                {R"(\v)", "a\n\vb", "a\n_b"},
                                {"(?#[)a", "ba", "b_"},
                                {"(?x) a # [c", "ba", "b_"},
                                {"a{1}?b", "ab", "_"}};
  for (const Case& each : cases) {
    CAPTURE(each.pattern);
    Normalizer normalizer;
    normalizer.add(normal::replace_pattern(each.pattern, "_"));
    std::string first, second;
    CHECK(normalizer.apply(each.text, first, second) == each.replaced);
  }
  CHECK_THROWS_WITH(TextPattern("[a-z&&[^m]]"), doctest::Contains("has && within []"));
  CHECK_THROWS_WITH(TextPattern("[a-c[x]]"), doctest::Contains("has a class within []"));
  CHECK_THROWS_WITH(TextPattern("a{2}?b"), doctest::Contains("has {n}?, which is not supported"));
  CHECK_THROWS_WITH(TextPattern("(?#a"), doctest::Contains("has a (?# that no ) closes"));
  CHECK_THROWS_WITH(TextPattern("[a"), doctest::Contains("has a [ that no ] closes"));
}

TEST_CASE("added tokens have ids and texts of their own, and stand among the others as the decoder puts them") {
  const auto with = [](const std::string& added, const std::string& decoder) {
    return R"({"added_tokens": [)" + added + R"(], "decoder": )" + decoder + R"(,
               "pre_tokenizer": {"type": "WhitespaceSplit"},
               "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "x": 1, "##y": 2}}})";
  };
  const std::string mask = R"({"id": 3, "content": "<m>"})";
  CHECK(refusal_of(with(mask + R"(, {"id": 4, "content": "x"})", "null")) ==
        "bad.json: added_tokens[1].id: 'x' has the id 1 already");
  CHECK(refusal_of(with(mask + R"(, {"id": 3, "content": "<n>"})", "null")) ==
        "bad.json: added_tokens[1].id: the id 3 is that of '<m>'");
  CHECK(refusal_of(with(R"({"id": 1, "content": "<m>"})", "null")) ==
        "bad.json: added_tokens[0].id: the id 1 is that of 'x'");
  const auto decoded = [&](const std::string& decoder) {
    const auto tokenizer = parse_tokenizer(with(mask, decoder), "own.json");
    return tokenizer->decode(tokenizer->encode("xy <m>x"));
  };
  CHECK(decoded("null") == "x ##y <m> x");
  CHECK(decoded(R"({"type": "WordPiece", "prefix": "##", "cleanup": false})") == "xy <m> x");
}

TEST_CASE("a decoder's steps follow one another, and those behind Fuse see the whole text") {
  // Hugging Face's tokenizers 0.23 decode the same.
  const auto decoded = [](const std::string& steps, const std::vector<std::uint32_t>& ids) {
    const auto tokenizer = parse_tokenizer(R"({"decoder": {"type": "Sequence", "decoders": [)" + steps + R"(]},
        "model": {"type": "BPE", "merges": [], "vocab": {"<0xE6>": 0, "<0x97>": 1, "<0xA5>": 2, "▁a": 3, "b": 4}}})",
                                           "own.json");
    return tokenizer->decode(ids);
  };
  const std::string metaspace = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})",
                    bytes = R"({"type": "ByteFallback"})", fuse = R"({"type": "Fuse"})",
                    replace = R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})",
                    change = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "X"})",
                    strip = R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})";
  CHECK(decoded(metaspace + "," + bytes + "," + fuse, {0, 1, 2, 3}) == "日 a");
  CHECK(decoded(metaspace + "," + change, {3, 3}) == "X X");
  CHECK(decoded(replace + "," + strip, {3, 3, 4}) == "aab");
  CHECK(decoded(strip + "," + replace, {3, 3}) == " a a");
  CHECK(decoded(replace + "," + bytes + "," + fuse + "," + strip, {3, 3, 0, 1, 2}) == "a a日");
  CHECK(refusal_of(R"({"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, )" + replace +
                   R"(]}, "model": {"type": "BPE", "merges": [], "vocab": {"a": 0}}})") ==
        "bad.json: decoder.decoders[1]: a step behind Fuse or ByteLevel other than Strip is not supported");
}

TEST_CASE("Metaspace puts its first sign before the first character alone, as its reference does") {
  const auto ids = [](const std::string& before, const std::string& text) {
    return parse_tokenizer(R"({"normalizer": {"type": "Strip", "strip_left": true, "strip_right": false},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" +
                               before +
                               R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}]},
        "model": {"type": "BPE", "merges": [], "vocab": {"▁": 0, "a": 1, "b": 2}}})",
                           "own.json")
        ->encode(text);
  };
  const std::string words = R"({"type": "WhitespaceSplit"}, )";
  CHECK(ids("", "a b") == Ids{0, 1, 0, 2});
  CHECK(ids("", " a b") == Ids{1, 0, 2});
  CHECK(ids(words, "a b") == Ids{0, 1, 2});
  CHECK(ids(words, " a b") == Ids{1, 2});
}

TEST_CASE("a model of SentencePiece is refused if it is cut behind a piece") {
  const auto corpus = test::source_path("tests/fuzz/corpus/sentencepiece");
  std::size_t cut = 0;
  for (const auto& seed : std::filesystem::directory_iterator(corpus)) {
    const std::string whole = testing::read_text(seed.path());
    // Each piece is a message of the field 1: a byte of its number, one of its length, and its bytes.
    for (std::size_t at = 0; at + 1 < whole.size() && whole[at] == '\n';
         at += 2 + static_cast<unsigned char>(whole[at + 1]))
      if (at > 0) {
        ++cut;
        CHECK(refusal_of(whole.substr(0, at)).find("the settings behind the pieces are missing") != std::string::npos);
      }
  }
  CHECK(cut > 5);
}

TEST_CASE("files that chance has changed are read or refused, and what is read has its own ids") {
  std::mt19937 random(7);
  std::size_t read = 0;
  for (const char* kind : {"tokenizer_json", "rank_file", "sentencepiece"})
    for (const auto& seed :
         std::filesystem::directory_iterator(test::source_path("tests/fuzz/corpus/" + std::string(kind)))) {
      const std::string whole = testing::read_text(seed.path());
      for (int i = 0; i < 300; ++i) {
        std::string bytes = whole;
        for (std::size_t changes = random() % 4; changes > 0; --changes) {
          const std::size_t at = random() % bytes.size(), count = random() % 8;
          if (random() % 2)
            bytes[at] = static_cast<char>(random());
          else if (random() % 2)
            bytes.insert(at, bytes.substr(random() % bytes.size(), count));
          else if (bytes.size() > count + 1)
            bytes.erase(at, count);
        }
        try {
          const auto tokenizer = parse_tokenizer(bytes, "changed");
          const auto ids = tokenizer->encode("It's a text\n\t of <s> caf\u00e9 \u4e2d 123 \xff[SEP]", {true, true});
          TextStream stream(*tokenizer);
          std::string all;
          for (const auto id : ids) {
            REQUIRE(id < tokenizer->vocabulary_size());
            all += stream.push(id);
          }
          all += stream.finish();
          REQUIRE(all == tokenizer->decode(ids));
          ++read;
        } catch (const UserError& error) {
          REQUIRE(std::string_view(error.what()).starts_with("changed:"));
        }
      }
    }
  CHECK(read > 500);
}

TEST_CASE("training gives the same vocabulary for any number of threads") {
  test::DrawnTexts texts(9);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += texts.text(8) + "\nand\n";
  const auto one = learned(text, {.vocabulary = 600, .pattern = "gpt2", .special = {"<s>"}, .threads = 1});
  const auto three = learned(text, {.vocabulary = 600, .pattern = "gpt2", .special = {"<s>"}, .threads = 3});
  CHECK(one.merges.size() == 600 - 257);
  CHECK(one.merges == three.merges);
  CHECK(tokenizer_json(one) == tokenizer_json(three));
}

TEST_CASE("special tokens that are no names of their own, or too many, are refused") {
  const auto refusal = [](std::vector<std::string> special) {
    try {
      learned("ab ab", {.vocabulary = 258, .pattern = "gpt2", .special = std::move(special)});
    } catch (const UserError& error) {
      CHECK(error.code() == ExitCode::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal({"<s>"}).empty());
  CHECK(refusal({"a"}) == "the special token 'a' is the name of another token, too");
  CHECK(refusal({"<s>", "<s>"}) == "the special token '<s>' is there twice");
  CHECK(refusal({""}) == "a special token is empty");
  CHECK(refusal({"a\xff"}).find("is not UTF-8") != std::string::npos);
  CHECK(refusal({"<a>", "<b>", "<c>"}) == "a vocabulary of 258 ids cannot hold 256 bytes and 3 special tokens");
}

TEST_CASE("the pair that occurs most often merges first, and of equal ones that of the least ids") {
  const auto pairs = learned("ab ab ab cd cd cd xy", {.vocabulary = 258, .pattern = "gpt2"});
  const auto tokenizer = parse_tokenizer(tokenizer_json(pairs), "own.json");
  CHECK(tokenizer->token(256) == "ab");
  CHECK(tokenizer->token(257) == "cd");
}

TEST_CASE("threads share a tokenizer, and each has the same ids") {
  const auto tokenizer = learned_tokenizer();
  test::DrawnTexts texts(21);
  const std::string text = texts.text(500);
  const auto expected = tokenizer->encode(text);
  std::vector<Ids> found(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(found.size());
    for (auto& ids : found) threads.emplace_back([&] { ids = tokenizer->encode(text); });
  }
  for (auto& ids : found) CHECK(ids == expected);
}

}  // namespace flowtrain::tokenizer_test

// The transform `pair`: two texts in a row, as a question and its answer, with the type of each token.
#include <algorithm>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/field_parts.h"
#include "sampling/transforms/text_ids.h"

namespace flowtrain {
namespace {

class PairTransform final : public Transform {
 public:
  PairTransform(const Settings& settings, const TransformInput& input)
      : first_(settings, input.from, TextIds::Takes::texts),
        second_(settings, part_form(settings, "second", input.dataset), TextIds::Takes::texts, first_.tokenizer()),
        form_(form_of(settings, *first_.tokenizer())),
        longest_(settings) {
    const auto most = longest_.most();
    if (specials() >= most)
      throw settings.error("max", "it leaves no room for a text beside the special tokens", ExitCode::usage,
                           concat("set max to more than ", specials(), ", or leave out special tokens"));
    Field field{.name = input.name, .dtype = DType::i64, .shape = {most}};
    field.free_axes = 1;
    field.fill = static_cast<double>(settings.integer("fill"));
    field.values = first_.vocabulary();
    field.tokenizer = first_.tokenizer();
    field.show = show_ids(first_.tokenizer());
    fields_.push_back(field);
    std::uint32_t largest = 1;
    for (auto& item : form_) largest = std::max(largest, item.type);
    Field type{.name = "type", .dtype = DType::i64, .shape = {most}};
    type.free_axes = 1;
    type.values = largest + 1;
    fields_.push_back(std::move(type));
  }

  std::vector<Field> fields() const override { return fields_; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    const auto first = first_.count(record), second = second_.count(record);
    const bool known = first != unknown_extent && second != unknown_extent;
    std::ranges::fill(extents, known ? longest_.length(first + second + specials()) : unknown_extent);
  }

  void make(const Record& record, Stream, Row to) const override {
    thread_local Ids first;  // second_ may overwrite what first_ keeps
    first = first_(record);
    const Ids& second = second_(record);
    first_.tell_if_empty(first);
    second_.tell_if_empty(second);
    const auto whole = static_cast<std::int64_t>(first.size() + second.size()) + specials();
    const auto length = longest_.length(whole);
    if (length < whole) longest_.count_cut();
    const auto kept = kept_of(first.size(), second.size(), static_cast<std::size_t>(length - specials()));
    thread_local std::vector<std::int64_t> tokens, types;
    tokens.clear();
    types.clear();
    const auto put = [](const Ids& ids, std::size_t count) {
      tokens.insert(tokens.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    };
    for (auto& item : form_) {
      if (item.kind == TemplateItem::first)
        put(first, kept.first);
      else if (item.kind == TemplateItem::second)
        put(second, kept.second);
      else
        tokens.push_back(item.id);
      types.resize(tokens.size(), item.type);
    }
    put_row<std::int64_t>(fields_[0], tokens, to[0], to.extents());
    put_row<std::int64_t>(fields_[1], types, to[1], to.extents());
  }

 private:
  using Form = std::vector<TemplateItem>;

  /// Returns the texts and the tokens around them. Keys replace the tokens that the tokenizer prescribes.
  static Form form_of(const Settings& settings, const Tokenizer& tokenizer) {
    using enum TemplateItem::Kind;
    const bool prescribed = settings.boolean("add_special");
    Form whole = prescribed ? tokenizer.pair_template() : Form{{first, 0, 0}, {second, 0, 1}};
    const auto begin = special_of(settings, "begin", tokenizer), end = special_of(settings, "end", tokenizer);
    if (!begin && !end) return whole;
    Form form;
    if (begin) form.push_back({token, *begin, 0});
    for (auto item = whole.begin(); item != whole.end(); ++item) {
      const bool before = std::find_if(whole.begin(), item, is_text) == item && !is_text(*item);
      if (is_text(*item) || (before ? !begin : !end)) form.push_back(*item);
      if (is_text(*item) && end) form.push_back({token, *end, item->type});
    }
    return form;
  }

  static bool is_text(const TemplateItem& item) { return item.kind != TemplateItem::token; }

  std::int64_t specials() const { return static_cast<std::int64_t>(form_.size()) - 2; }

  /// Returns how much of each text is kept in `room`: the longer one is cut first, and then both.
  static std::pair<std::size_t, std::size_t> kept_of(std::size_t first, std::size_t second, std::size_t room) {
    if (first + second <= room) return {first, second};
    const std::size_t shorter = std::min({first, second, room / 2});
    return first > second ? std::pair{room - shorter, shorter} : std::pair{shorter, room - shorter};
  }

  TextIds first_, second_;
  Form form_;  ///< the two texts and the tokens around them
  LongestRow longest_;
  std::vector<Field> fields_;
};

}  // namespace

TransformEntry pair_transform_entry() {
  auto keys = id_keys({{.name = "second",
                        .kind = Kind::text,
                        .fallback = std::string(),
                        .help = "part of the sample with the second text",
                        .required = true}},
                      /*add_special=*/true);
  return {.name = "pair",
          .help =
              "the ids of two texts, i64 (length), and the field type, i64 (length): 0 or 1, the text of each token "
              "(token_type_ids)",
          .keys = std::move(keys),
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<PairTransform>(settings, input);
          }};
}

}  // namespace flowtrain

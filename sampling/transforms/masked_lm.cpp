// The transform `masked_lm`: ids of which some are hidden, and labels that tell them, for models that fill gaps (J.
// Devlin et al., "BERT", NAACL 2019): of the chosen ones 80 % become the mask, 10 % another token, 10 % stay.
#include <algorithm>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/transforms/text_ids.h"

namespace flowtrain {
namespace {

constexpr double masked_part = 0.8, changed_part = 0.1;
/// The seed of the draws of validation, which no run's seed changes.
constexpr std::uint64_t validation_seed = 0x6d61736b6564;

class MaskedLmTransform final : public Transform {
 public:
  MaskedLmTransform(const Settings& settings, const TransformInput& input)
      : ids_(settings, input.from, TextIds::Takes::texts_and_ids),
        form_(settings, ids_.tokenizer().get(), RowForm::CutEnd::stays),
        share_(settings.real("share")),
        training_(input.training) {
    if (share_ == 0)
      throw settings.error("share", "must be above 0, or nothing is left to learn", ExitCode::usage,
                           "leave it out for 0.15, as BERT was trained");
    const auto& tokenizer = ids_.tokenizer();
    if (!tokenizer)
      throw settings.error("tokenizer", "must be given, as it has the mask", ExitCode::usage,
                           "name the tokenizer that the ids were made by");
    mask_ = mask_of(settings, *tokenizer);
    is_special_.resize(tokenizer->vocabulary_size());
    for (auto& special : tokenizer->special_tokens()) is_special_[special.id] = true;
    Field field{.name = input.name, .dtype = DType::i64, .shape = {settings.integer("max")}};
    field.free_axes = 1;
    field.fill = static_cast<double>(settings.integer("fill"));
    field.values = ids_.vocabulary();
    field.tokenizer = tokenizer;
    field.show = show_ids(tokenizer);
    fields_.push_back(field);
    field.name = "label";
    field.fill = no_label;
    field.show = show_chosen_ids(tokenizer);
    fields_.push_back(std::move(field));
  }

  std::vector<Field> fields() const override { return fields_; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    std::ranges::fill(extents, form_.length(ids_.count(record)));
  }

  void make(const Record& record, Stream random, Row to) const override {
    if (!training_) random = Stream(validation_seed, Purpose::sample, record.id);
    thread_local Ids tokens;
    thread_local std::vector<std::int64_t> labels;
    const Ids& ids = ids_(record);
    ids_.tell_if_empty(ids);
    tokens = form_.row(ids);
    labels.assign(tokens.size(), no_label);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (is_special_[tokens[i]]) continue;
      const double place = random.uniform();
      if (place >= share_) continue;
      labels[i] = tokens[i];
      if (place < masked_part * share_)
        tokens[i] = mask_;
      else if (place < (masked_part + changed_part) * share_)
        tokens[i] = static_cast<std::uint32_t>(random.below(is_special_.size()));
    }
    put_row<std::uint32_t>(fields_[0], tokens, to[0], to.extents());
    put_row<std::int64_t>(fields_[1], labels, to[1], to.extents());
  }

 private:
  static std::uint32_t mask_of(const Settings& settings, const Tokenizer& tokenizer) {
    if (const auto id = special_of(settings, "mask", tokenizer)) return *id;
    for (const char* const name : {"[MASK]", "<mask>"})
      if (const auto id = tokenizer.special(name)) return *id;
    throw settings.error(
        "mask", "the tokenizer has neither [MASK] nor <mask>", ExitCode::usage,
        concat("name one of its special tokens: ", join(tokenizer.special_tokens(), ", ", &SpecialToken::name)));
  }

  TextIds ids_;
  RowForm form_;
  double share_;
  bool training_;
  std::uint32_t mask_ = 0;
  std::vector<bool> is_special_;  ///< by id
  std::vector<Field> fields_;
};

}  // namespace

TransformEntry masked_lm_transform_entry() {
  return {
      .name = "masked_lm",
      .help =
          "the ids of a text or stored ids, i64 (length), of which some are masked, and the field label, i64 "
          "(length): the true id where one was chosen, else -100",
      .keys = id_keys({{"share", Kind::real, 0.15, "share of the tokens that are chosen; special ones never are", 0, 1},
                       {"mask", Kind::text, std::string(),
                        "special token that hides a token; empty: [MASK] or <mask> of the tokenizer"}}),
      .make = [](const Settings& settings, const TransformInput& input) {
        return std::make_unique<MaskedLmTransform>(settings, input);
      }};
}

}  // namespace flowtrain

// A sampler plugin for language models: the bytes of a record as tokens, until there is a data set of token files.
//
//     g++ -std=c++20 -O2 -fPIC -shared -I. examples/tokens.cpp -o tokens.so     # from flowtrain's root
//
// Data: an idx file of u8 (rows, 1, length), whose labels are not read; docs/any_model.md writes one.
#include "sampling/plugin.hpp"

namespace plugin = flowtrain::plugin;

namespace {

constexpr std::uint8_t mask_token = 0;      // no byte of a text
constexpr std::int64_t not_counted = -100;  // cross_entropy's ignore_index in PyTorch
constexpr double masked_share = 0.15;       // of BERT (Devlin et al. 2018)

class Tokens : public plugin::Sampler {
 public:
  explicit Tokens(const plugin::Create& create) : masks_(create.boolean("mask")), length_(create.raw().width) {
    if (create.raw().encoding != FT_PIXELS) throw plugin::Error("it needs a data set of stored bytes (idx)");
  }

  // tokens: i64 (length). With mask, 15 % of them are 0, and target, i64 (length), has what these were, else -100.
  std::vector<ft_field> fields() const override {
    std::vector<ft_field> fields{plugin::field("tokens", FT_I64, {length_})};
    if (masks_) fields.push_back(plugin::field("target", FT_I64, {length_}));
    return fields;
  }

  void sample(const ft_record& record, plugin::Random& random, std::span<std::uint8_t* const> rows) const override {
    if (record.bytes_size != length_) throw plugin::Error("its length is not that of the first record");
    for (std::uint32_t i = 0; i < length_; ++i) {
      const bool masked = masks_ && random.uniform() < masked_share;
      write(rows[0], i, masked ? mask_token : record.bytes[i]);
      if (masks_) write(rows[1], i, masked ? record.bytes[i] : not_counted);
    }
  }

 private:
  static void write(std::uint8_t* row, std::uint32_t place, std::int64_t value) {
    std::memcpy(row + place * sizeof value, &value, sizeof value);
  }

  bool masks_;
  std::uint32_t length_;
};

}  // namespace

FLOWTRAIN_SAMPLER_PLUGIN(Tokens, "tokens", "the bytes of a record as tokens",
                         {"mask", FT_BOOLEAN, "false", "masks 15 % of the tokens, which become the target"})

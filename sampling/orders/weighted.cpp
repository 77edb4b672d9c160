// Draws with replacement, with each record as often as its weight says: the alias method of A. Walker (1977), with M.
// Vose's linear-time table ("A Linear Algorithm for Generating Random Numbers with a Given Distribution", 1991).

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "sampling/core/text.h"
#include "sampling/io/text_lines.h"
#include "sampling/orders/entries.h"
#include "sampling/sources/hold_out.h"

namespace flowtrain {
namespace {

class Weighted : public Order {
 public:
  /// `weights` has one number >= 0 per record, not all zero.
  Weighted(const std::vector<double>& weights, std::uint64_t seed) : seed_(seed), table_(weights.size()) {
    const auto samples = static_cast<double>(weights.size());
    const auto heaviest = static_cast<std::uint64_t>(std::ranges::max_element(weights) - weights.begin());
    const auto largest = weights[heaviest];
    double sum = 0;  // sum of weights scaled by the largest, so that it cannot overflow
    for (const auto weight : weights) sum += weight / largest;

    std::vector<double> share(weights.size());  // 1 is the share of a uniform draw
    std::vector<std::uint64_t> small, large;
    for (std::uint64_t id = 0; id < weights.size(); ++id) {
      share[id] = weights[id] / largest / sum * samples;
      (share[id] < 1 ? small : large).push_back(id);
    }
    while (!small.empty() && !large.empty()) {
      const auto poor = small.back(), rich = large.back();
      small.pop_back();
      table_[poor] = {share[poor], rich};
      share[rich] -= 1 - share[poor];
      if (share[rich] < 1) {
        large.pop_back();
        small.push_back(rich);
      }
    }
    // The rest has a share of 1, up to rounding, for which a record without weight must not be drawn.
    for (const auto& rest : {small, large})
      for (const auto id : rest) table_[id] = {weights[id] > 0 ? 1.0 : 0.0, heaviest};
  }

  std::uint64_t size() const override { return table_.size(); }

  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override {
    Stream random(seed_, Purpose::order, epoch * size() + index);
    const auto id = random.below(size());
    return random.uniform() < table_[id].threshold ? id : table_[id].alias;
  }

 private:
  struct Place {
    double threshold;     ///< probability that a draw of this place stays here
    std::uint64_t alias;  ///< the other record
  };
  std::uint64_t seed_;
  std::vector<Place> table_;
};

/// Returns the weight of each record's class; records without a class get 0.
std::vector<double> weights_by_class(const Settings& settings, const Dataset& dataset) {
  const auto& by_class = settings.reals("weights");
  const auto classes = dataset.classes().size();
  if (by_class.size() != classes)
    throw settings.error("weights", concat(by_class.size(), " weights for ", classes, " classes"), ExitCode::usage,
                         "give one weight per class, in label order");
  std::vector<double> weights(dataset.size());
  for (std::uint64_t id = 0; id < weights.size(); ++id) {
    const auto label = dataset.label(id);
    if (label >= 0 && static_cast<std::uint64_t>(label) < classes) weights[id] = by_class[label];
  }
  return weights;
}

/// Reads the weights of all records of a data set; returns those of the records that are not held out of it.
std::vector<double> weights_from_file(const Settings& settings, const Dataset& dataset) {
  const auto* part = dynamic_cast<const SubsetDataset*>(&dataset);
  const std::uint64_t records = part ? part->size_of_whole() : dataset.size();
  const auto& path = settings.text("weights_file");
  std::ifstream file(path);
  if (!file)
    throw settings.error("weights_file", "cannot read " + path, ExitCode::data, "name a file with one weight per line");
  const auto fault = [&](const std::string& what) {
    return UserError(ExitCode::data, path + what, "write one weight per line, in record order");
  };
  std::vector<double> weights;
  for (std::string raw; std::getline(file, raw) && weights.size() <= records;) {
    const std::string line(clean_line(raw, weights.size() + 1, path));
    char* end = nullptr;
    const double weight = std::strtod(line.c_str(), &end);
    const bool whole = end != line.c_str() && line.find_first_not_of(" \t\r", end - line.c_str()) == std::string::npos;
    if (!whole || !std::isfinite(weight) || weight < 0)
      throw fault(
          concat(":", weights.size() + 1, ": expected a number that is not negative, got '", line.substr(0, 40), "'"));
    weights.push_back(weight);
  }
  if (weights.size() != records)
    throw fault(
        concat(": ", weights.size() > records ? "more than " : "", std::min<std::uint64_t>(weights.size(), records),
               " weights for ", records, " records",
               part ? concat(", of which ", dataset.size(), " are trained on: those held out have weights, too") : ""));
  if (!part) return weights;
  std::vector<double> own(dataset.size());
  for (std::uint64_t id = 0; id < own.size(); ++id) own[id] = weights[part->id_in_whole(id)];
  return own;
}

std::unique_ptr<Order> make_weighted(const Settings& settings, const OrderInput& input) {
  samples_of(input);  // refuses none
  const bool by_class = !settings.reals("weights").empty(), by_record = !settings.text("weights_file").empty();
  if (by_class == by_record)
    throw settings.error(by_class ? "weights_file" : "weights",
                         by_class ? "order.weights is also given" : "neither this nor order.weights_file is given",
                         ExitCode::usage, "give either weights, one per class, or weights_file, one per record");
  const auto weights =
      by_class ? weights_by_class(settings, input.dataset) : weights_from_file(settings, input.dataset);
  if (std::ranges::max(weights) == 0)
    throw settings.error(by_class ? "weights" : "weights_file", "no record has a weight above 0");
  return std::make_unique<Weighted>(weights, input.seed);
}

}  // namespace

OrderEntry weighted_entry() {
  return {.name = "weighted",
          .help = "draws with replacement by weight, as many per epoch as there are records",
          .keys = {{"weights", Kind::reals, std::vector<double>(), "weight of each class's records, in label order", 0,
                    1e300},
                   {.name = "weights_file",
                    .kind = Kind::text,
                    .fallback = "",
                    .help = "text file with the weight of each record, also of those held out, one per line",
                    .is_path = true}},
          .make = make_weighted};
}

}  // namespace flowtrain

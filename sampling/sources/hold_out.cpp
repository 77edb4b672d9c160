#include "sampling/sources/hold_out.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/coco_instances.h"
#include "sampling/fingerprint.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {
namespace {

/// The samples of one name.
struct Unit {
  std::string name;
  std::uint64_t hash;
  std::vector<std::uint64_t> ids;
};

/// Groups the samples by class; -1: samples without one.
std::map<std::int64_t, std::vector<Unit>> units_by_class(const Dataset& dataset) {
  struct Place {
    std::int64_t label;
    std::size_t index;
  };
  std::map<std::int64_t, std::vector<Unit>> classes;
  std::unordered_map<std::string, Place> places;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    auto name = name_of(dataset, id);
    const auto [place, is_new] = places.try_emplace(name, Place{dataset.label(id), 0});
    auto& units = classes[place->second.label];
    if (is_new) {
      place->second.index = units.size();
      const std::uint64_t hash = fingerprint_of(name);
      units.push_back({std::move(name), hash, {}});
    }
    units[place->second.index].ids.push_back(id);
  }
  return classes;
}

void append(std::vector<std::uint64_t>& ids, const Unit& unit) {
  ids.insert(ids.end(), unit.ids.begin(), unit.ids.end());
}

/// The samples of one class, and those that it gives to validation.
struct ClassShare {
  std::uint64_t samples = 0, held = 0;  ///< `held`: known from an earlier split
  std::vector<const Unit*> open;        ///< samples that are not known yet, sorted by their hashes
  long long wanted = 0;                 ///< number of samples to hold out
};

/// Sets the number of samples to hold out of each class: its share, rounded. If the rounding errors of many classes add
/// up to a sample and more, those that were rounded by the most are rounded the other way, until the whole has its
/// share, too. The whole gives at least one sample. A class leaves its last sample to training.
void distribute(std::vector<ClassShare>& classes, double share) {
  double missing = 0;
  for (auto& each : classes) {
    const double exact = share * static_cast<double>(each.samples);
    each.wanted = std::llround(exact);
    missing += exact - static_cast<double>(each.wanted);
  }
  const int step = missing < 0 ? -1 : 1;
  const auto error_of = [&](const ClassShare& each) {
    return step * (share * static_cast<double>(each.samples) - static_cast<double>(each.wanted));
  };
  std::vector<ClassShare*> order;
  for (auto& each : classes) {
    const bool may_change = step < 0 || each.wanted + 1 < static_cast<long long>(each.samples);
    if (error_of(each) > 0 && may_change) order.push_back(&each);
  }
  const bool none = std::ranges::all_of(classes, [](const auto& each) { return each.wanted <= 0; });
  const auto whole = static_cast<std::size_t>(std::abs(missing) + 1e-6);
  const auto changes = std::min(order.size(), none ? std::max<std::size_t>(whole, 1) : whole);
  std::ranges::stable_sort(order, {}, [&](const ClassShare* each) {
    return std::pair(-error_of(*each), each->open.empty() ? 0 : each->open.front()->hash);
  });
  for (std::size_t i = 0; i < changes; ++i) order[i]->wanted += step;
}

/// Moves the smallest unit from training to validation, where shares were too small for any: of the open ones of
/// classes that keep another one.
void hold_out_one(const std::map<std::int64_t, std::vector<Unit>>& classes, const std::vector<ClassShare>& shares,
                  HoldOut& split) {
  const Unit* smallest = nullptr;
  for (std::size_t i = 0; const auto& [label, units] : classes) {
    const auto& open = shares[i++].open;
    if (units.size() < 2) continue;
    for (const Unit* unit : open)
      if (!smallest || unit->ids.size() < smallest->ids.size()) smallest = unit;
  }
  if (!smallest) return;
  std::erase_if(split.training, [&](std::uint64_t id) { return std::ranges::binary_search(smallest->ids, id); });
  append(split.validation, *smallest);
}

constexpr std::string_view heading = "split\tname\n";
constexpr std::string_view validation_word = "validation\t", training_word = "training\t", end_word = "samples\t";

bool fits_a_line(const std::string& name) { return !name.empty() && name.find_first_of("\r\n") == name.npos; }

std::string as_text(const KnownSplit& split) {
  std::string text(heading);
  for (auto& [name, is_validation] : split) {
    text += is_validation ? validation_word : training_word;
    text += name;
    text += '\n';
  }
  return text + std::string(end_word) + std::to_string(split.size()) + '\n';
}

}  // namespace

HoldOut hold_out(const Dataset& dataset, double share, const KnownSplit& known) {
  HoldOut split;
  auto classes = units_by_class(dataset);
  std::vector<ClassShare> shares;
  for (auto& [label, units] : classes) {
    ClassShare own;
    for (auto& unit : units) {
      own.samples += unit.ids.size();
      const auto before = known.find(unit.name);
      if (before == known.end()) {
        own.open.push_back(&unit);
        continue;
      }
      if (before->second) own.held += unit.ids.size();
      append(before->second ? split.validation : split.training, unit);
    }
    std::ranges::sort(own.open, {},
                      [](const Unit* unit) { return std::pair(unit->hash, std::string_view(unit->name)); });
    shares.push_back(std::move(own));
  }
  distribute(shares, share);
  for (auto& own : shares) {
    const auto distance = [&](std::uint64_t taken) { return std::abs(own.wanted - static_cast<long long>(taken)); };
    for (const Unit* unit : own.open) {
      const bool nearer = distance(own.held + unit->ids.size()) < distance(own.held);
      if (nearer) own.held += unit->ids.size();
      append(nearer ? split.validation : split.training, *unit);
    }
  }
  if (split.validation.empty()) hold_out_one(classes, shares, split);
  std::ranges::sort(split.training);
  std::ranges::sort(split.validation);
  return split;
}

KnownSplit SplitFile::read() const {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) return {};
  const auto damaged = [&](const std::string& what) {
    return UserError(ExitCode::data, concat(path_.string(), ": ", what),
                     "correct the file, or remove it to split the samples anew");
  };
  const auto lines = read_text_lines(path_);
  if (lines.empty() || lines.front() + '\n' != heading) throw damaged("this is not a list of a split");
  KnownSplit split;
  for (const std::string& line : std::span(lines).subspan(1)) {
    if (line.starts_with(end_word)) {
      if (parse_number<std::uint64_t>(std::string_view(line).substr(end_word.size())) != split.size())
        throw damaged(concat("it has ", split.size(), " samples, but its last line says otherwise"));
      return split;
    }
    const bool is_validation = line.starts_with(validation_word);
    if (!is_validation && !line.starts_with(training_word))
      throw damaged(concat("line ", split.size() + 2, ": expected training or validation, a tab and a name"));
    split[as_utf8(std::string_view(line).substr((is_validation ? validation_word : training_word).size()))] =
        is_validation;
  }
  throw damaged("its end is missing");
}

bool SplitFile::keep(const NamedDataset& dataset, const HoldOut& split, KnownSplit known) const {
  const std::size_t before = known.size();
  for (const auto& [ids, is_validation] : {std::pair(&split.validation, true), {&split.training, false}})
    for (const auto id : *ids)
      if (auto name = dataset.name(id); fits_a_line(name)) known.emplace(std::move(name), is_validation);
  if (known.size() == before) return before > 0;
  const auto text = as_text(known);
  write_cache_file(path_, path_.string() + ".", {std::as_bytes(std::span(text))},
                   [](int file) { return fchmod(file, 0644) == 0; });
  std::error_code error;
  return std::filesystem::file_size(path_, error) == text.size() && !error;
}

Record SubsetDataset::read(std::uint64_t id, ReadBuffer& buffer) const {
  Record record = whole_->read(ids_[id], buffer);
  record.id = id;
  return record;
}

bool SubsetDataset::outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const {
  if (!whole_->outline(ids_[id], record, buffer)) return false;
  record.id = id;
  return true;
}

std::shared_ptr<const BoxAnnotations> SubsetDataset::annotations() const {
  const auto all = whole_->annotations();
  if (!all) return nullptr;
  auto some = std::make_shared<BoxAnnotations>(*all);
  some->image_ids.clear();
  for (const auto id : ids_) some->image_ids.push_back(all->image_ids[id]);
  return some;
}

std::uint64_t SubsetDataset::fingerprint() const {
  return fingerprint_of(std::as_bytes(std::span(ids_)), whole_->fingerprint());
}

std::uint64_t SubsetDataset::version() const {
  return fingerprint_of(std::as_bytes(std::span(ids_)), whole_->version());
}

}  // namespace flowtrain

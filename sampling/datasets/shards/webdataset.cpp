// The `webdataset` data set: samples in tar shards (A. Aizman et al., "High Performance I/O For Large Scale Deep
// Learning", 2019), read in place. Adjacent files whose names are equal up to the first dot are one sample.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/shards/shard_index.h"
#include "sampling/datasets/sound_forms.h"
#include "sampling/datasets/split_names.h"
#include "sampling/fingerprint.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/files.h"
#include "sampling/io/text_lines.h"
#include "sampling/named_dataset.h"
#include "sampling/parts/part_collector.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

/// The values of the key `parts` with a meaning of their own.
const std::vector<std::string> everything{"*"}, automatic{"auto"};

/// Returns the path of the class names, one per line, that may exist beside local shards.
std::filesystem::path names_file(const std::string& shard) {
  return std::filesystem::path(shard).parent_path() / "classes.txt";
}

/// Returns the lines of a file without blanks around them, up to the last one that is not empty; none without a file.
/// Throws UserError(data), with the line, for one that is empty or a name that occurs before.
std::vector<std::string> read_class_names(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  auto names = read_text_lines(path);
  for (auto& name : names) name = as_utf8(trimmed(name));
  while (!names.empty() && names.back().empty()) names.pop_back();
  std::map<std::string_view, std::size_t> lines;
  for (std::size_t line = 1; line <= names.size(); ++line) {
    const auto& name = names[line - 1];
    const auto [first, is_new] = lines.try_emplace(name, line);
    if (name.empty() || !is_new)
      throw UserError(ExitCode::data,
                      concat(as_utf8(path.string()), ":", line, ": ",
                             name.empty() ? "the line is empty, but others that name classes follow"
                                          : concat("'", name, "' is the name of line ", first->second, ", too")),
                      "write one name of its own for each class, in label order");
  }
  return names;
}

constexpr const char* labels_hint =
    "write each label, a number from 0, to NAME.cls next to NAME's image in the shard; .json and .txt give no labels";

class WebDataset : public NamedDataset {
 private:
  /// Returns what `body` returns; its failures become those of a sample.
  template <class Body>
  auto guarded(std::uint64_t id, Body&& body) const {
    try {
      return body();
    } catch (const UserError&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw SampleError(describe(id) + ": " + error.what());
    } catch (const std::invalid_argument& error) {
      throw SampleError(describe(id) + ": " + error.what());
    }
  }

 public:
  /// `classes` 0: as many as `names`, or else as the labels need. `parts`: kinds of members that become parts; "*":
  /// all.
  WebDataset(ShardList list, Shards shards, std::int64_t classes, std::vector<std::string> names,
             const std::vector<std::string>& parts)
      : list_(std::move(list)),
        shards_(std::move(shards.all)),
        access_(std::move(shards.access)),
        classes_(std::max(classes, static_cast<std::int64_t>(names.size()))),
        names_(std::move(names)) {
    const Shard* unlabelled = nullptr;
    std::size_t which = 0;
    for (const auto& shard : shards_) {
      for (const auto& sample : shard.samples) {
        classes_ = std::max<std::int64_t>(classes_, sample.label + 1);
        if (sample.label >= 0 || unlabelled) continue;
        unlabelled = &shard;
        which = static_cast<std::size_t>(&sample - shard.samples.data());
      }
      ends_.push_back(size() + shard.samples.size());
    }
    if (size() == 0)
      throw EmptyDataset(shards_.front().path + (shards_.size() > 1 ? " and the other shards" : "") +
                         ": there are no samples with an image (" + picture_endings + ")");
    if (!names_.empty() && classes_ > static_cast<std::int64_t>(names_.size()))
      throw UserError(ExitCode::data,
                      concat(names_file(shards_.front().path).string(), ": it names ", names_.size(),
                             " classes, but there is label ", classes_ - 1),
                      "correct it, or set data.classes: then it is not read");
    if (unlabelled && classes_ > 0)
      throw UserError(ExitCode::data,
                      concat(unlabelled->path, ": ", unlabelled->names[which],
                             " has no .cls beside it, but the data set has classes"),
                      labels_hint);
    choose_parts(parts);
    sounds_ = std::make_unique<SoundForms>(
        size(), [this] { return fingerprint(); }, [this](std::uint64_t id) { return sound_form_of(id); });
  }

  std::uint64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const Place place = locate(id);
    const Shard& shard = place.shard;
    const ShardSample& sample = place.sample;
    const auto encoding = sample.has_picture() ? Encoding::image : Encoding::bytes;
    Record record{.id = id, .encoding = encoding, .label = sample.label};
    return guarded(id, [&] {
      if (forms_.empty()) {
        read_exactly(*shard.file, sample.offset, sample.size_bytes, buffer.bytes);
        record.bytes = buffer.bytes;
        return record;
      }
      PartCollector parts(buffer);
      if (sample.has_picture()) parts.read_picture(*shard.file, sample.offset, sample.size_bytes);
      each_part(shard, sample, [&](const PartForm& form, const ShardMember* member) {
        member ? parts.read(form, *shard.file, member->offset, member->size_bytes) : parts.lack(form);
      });
      parts.finish(record);
      return record;
    });
  }

  std::vector<PartForm> parts() const override { return forms_; }

  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    std::size_t recordings = 0;
    for (const auto& form : forms_) {
      if (form.encoding != Encoding::text && form.encoding != Encoding::audio) return false;
      recordings += form.encoding == Encoding::audio ? 1 : 0;
    }
    if (recordings > 1) return false;
    const auto [shard, sample] = locate(id);
    record = {.id = id, .encoding = sample.has_picture() ? Encoding::image : Encoding::bytes, .label = sample.label};
    PartCollector parts(buffer);
    each_part(shard, sample, [&](const PartForm& form, const ShardMember* member) {
      form.encoding == Encoding::audio ? parts.outline_audio(form, sounds_->form(id))
                                       : parts.outline_text(form, member ? member->size_bytes : 0);
    });
    parts.finish(record);
    return true;
  }

  bool takes_hints() const override { return access_ && access_->ahead; }

  void hint(std::uint64_t id) const override {
    each_remote_range(id, [](const RemoteFile& file, std::uint64_t offset, std::uint64_t size_bytes) {
      if (size_bytes <= max_sample_bytes) file.expect(offset, size_bytes);
    });
  }

  void prefetch(std::uint64_t id) const override {
    each_remote_range(id, [](const RemoteFile& file, auto offset, auto size_bytes) { file.begin(offset, size_bytes); });
  }

  void forget(std::uint64_t id) const override {
    each_remote_range(id,
                      [](const RemoteFile& file, auto offset, auto size_bytes) { file.forget(offset, size_bytes); });
  }

  std::uint64_t retries() const override { return access_ ? access_->outages.retries() : 0; }

  std::int64_t label(std::uint64_t id) const override { return locate(id).sample.label; }

  std::vector<std::string> classes() const override {
    return names_.empty() ? numbered_classes(static_cast<std::size_t>(classes_)) : names_;
  }

  std::string missing_labels() const override {
    if (classes_ > 0) return "";
    return concat(locate(0).sample.has_picture() ? "no image has a .cls beside it" : "no sample has a .cls",
                  ", for example ", describe(0), "; ", labels_hint);
  }

  std::string describe(std::uint64_t id) const override { return shown(id, 0); }

  /// Returns "shard.tar:image.jpg".
  std::string name(std::uint64_t id) const override { return shown(id, locate(id).shard.path.rfind('/') + 1); }
  bool has_split() const override { return list_.has_split; }
  std::string place() const override {
    return as_utf8(concat(list_.place, shards_.size() > 1 ? concat(", ", shards_.size(), " shards") : ""));
  }
  std::vector<std::string> notes() const override { return list_.notes; }

  std::uint64_t fingerprint() const override {
    std::uint64_t all = 0;
    for (auto& shard : shards_) {
      all = fingerprint_of(shard.file->size_bytes(),
                           fingerprint_of(std::string_view(shard.path).substr(shard.path.rfind('/') + 1), all));
      for (auto& sample : shard.samples)
        all = fingerprint_of(static_cast<std::uint64_t>(sample.label), fingerprint_of(sample.size_bytes, all));
      for (auto& member : shard.members)
        all = fingerprint_of(forms_[member.kind].name, fingerprint_of(member.size_bytes, all));
    }
    return all;
  }

 private:
  struct Place {
    const Shard& shard;
    const ShardSample& sample;
  };

  Place locate(std::uint64_t id) const {
    const auto at = static_cast<std::size_t>(std::ranges::upper_bound(ends_, id) - ends_.begin());
    return {shards_[at], shards_[at].samples[id - (at == 0 ? 0 : ends_[at - 1])]};
  }

  /// Reads the form of a sample's recording, which it may lack.
  SoundForm sound_form_of(std::uint64_t id) const {
    const Place place = locate(id);
    SoundForm found;
    each_part(place.shard, place.sample, [&](const PartForm& form, const ShardMember* member) {
      if (form.encoding == Encoding::audio && member)
        found = guarded(id, [&] { return sound_form(*place.shard.file, member->offset, member->size_bytes); });
    });
    return found;
  }

  /// Calls take(form, member) for each part of a sample; null: it lacks the part.
  template <class Take>
  void each_part(const Shard& shard, const ShardSample& sample, Take&& take) const {
    const auto members = shard.members_of(static_cast<std::size_t>(&sample - shard.samples.data()));
    for (std::size_t kind = 0; kind < forms_.size(); ++kind) {
      const auto found = std::ranges::find(members, kind, &ShardMember::kind);
      take(forms_[kind], found == members.end() ? nullptr : &*found);
    }
  }

  /// Calls take(file, offset, size_bytes) for each range of a remote shard that read() reads.
  template <class Take>
  void each_remote_range(std::uint64_t id, Take&& take) const {
    const auto [shard, sample] = locate(id);
    if (!shard.remote) return;
    if (sample.has_picture()) take(*shard.remote, sample.offset, sample.size_bytes);
    for (const auto& member : shard.members_of(static_cast<std::size_t>(&sample - shard.samples.data())))
      take(*shard.remote, member.offset, member.size_bytes);
  }

  /// Makes the parts: all kinds of members, or those that `chosen` names, sorted. Other members are forgotten, and the
  /// kinds of members become indices of forms_.
  void choose_parts(std::vector<std::string> chosen) {
    std::set<std::string> kinds;
    for (const auto& shard : shards_) kinds.insert(shard.kinds.begin(), shard.kinds.end());
    bool all = chosen == everything;
    if (!all && !chosen.empty() && chosen.back() == automatic.front()) {
      chosen.pop_back();
      // The error for a part that is not there lists all. Samples without pictures consist of nothing but parts, which
      // are wanted if no field names one.
      all = (chosen.empty() && !shards_.front().samples.front().has_picture()) ||
            std::ranges::any_of(chosen, [&](auto& name) { return name != image_part && !kinds.contains(name); });
    }
    for (const auto& name : chosen)
      if (!all && name != image_part && !kinds.contains(name))
        throw UserError(ExitCode::data, concat(list_.place, ": no sample has a file of the kind '", name, "'"),
                        "correct data.parts; there are " + listed_classes({kinds.begin(), kinds.end()}));
    for (const auto& kind : kinds)
      if (all || std::ranges::find(chosen, kind) != chosen.end())
        forms_.push_back(form_of_file(as_utf8(kind), concat(".", kind)));
    const std::vector<std::string> known(kinds.begin(), kinds.end());
    for (auto& shard : shards_) renumber_members(shard, known, chosen, all);
    for (std::size_t kind = 0; kind < forms_.size(); ++kind)
      if (forms_[kind].encoding == Encoding::array) complete_form(kind);
  }

  /// Replaces the kinds of a shard's members by indices of forms_, and removes those that are no parts.
  static void renumber_members(Shard& shard, const std::vector<std::string>& known,
                               const std::vector<std::string>& chosen, bool all) {
    constexpr auto dropped = static_cast<std::uint32_t>(-1);
    std::vector<std::uint32_t> places(shard.kinds.size(), dropped);
    for (std::size_t i = 0; i < shard.kinds.size(); ++i) {
      std::uint32_t place = 0;
      for (const auto& kind : known) {
        const bool is_part = all || std::ranges::find(chosen, kind) != chosen.end();
        if (kind == shard.kinds[i] && is_part) places[i] = place;
        place += is_part ? 1 : 0;
      }
    }
    std::size_t kept = 0, next = 0;
    for (auto& end : shard.member_ends) {
      for (; next < end; ++next) {
        auto member = shard.members[next];
        member.kind = places[member.kind];
        if (member.kind != dropped) shard.members[kept++] = member;
      }
      end = kept;
    }
    shard.members.resize(kept);
    shard.members.shrink_to_fit();
    if (kept == 0) shard.member_ends = {};
    shard.kinds = {};
  }

  /// Completes the form of a .npy part by the first member of its kind.
  void complete_form(std::size_t kind) {
    for (const auto& shard : shards_) {
      const auto member = std::ranges::find(shard.members, kind, &ShardMember::kind);
      if (member == shard.members.end()) continue;
      const auto fail = [&](const char* what) {
        throw UserError(
            ExitCode::data,
            concat(shard.path, ": the first member .", forms_[kind].name, ", at byte ", member->offset, ": ", what),
            "write it with numpy.save, or leave it out of data.parts");
      };
      try {
        return complete_array_form(forms_[kind], *shard.file, member->offset, member->size_bytes);
      } catch (const std::runtime_error& error) {
        fail(error.what());
      } catch (const std::invalid_argument& error) {
        fail(error.what());
      }
    }
  }

  /// Returns "path:image.jpg", with the path from `begin` on.
  std::string shown(std::uint64_t id, std::size_t begin) const {
    const auto [shard, sample] = locate(id);
    return as_utf8(concat(std::string_view(shard.path).substr(begin), ":",
                          shard.names[static_cast<std::size_t>(&sample - shard.samples.data())]));
  }

  const ShardList list_;
  std::vector<Shard> shards_;
  std::shared_ptr<const RemoteAccess> access_;  ///< null if the shards are local
  std::vector<std::uint64_t> ends_;             ///< id after the last one of each shard
  std::int64_t classes_;
  std::vector<std::string> names_;  ///< names of the classes; none: the labels' numbers
  std::unique_ptr<const SoundForms> sounds_;
  std::vector<PartForm> forms_;  ///< forms of the members; kinds of members are indices of it
};

/// Returns the kinds of members that become parts; for "auto" those that are used, with "auto" at their end.
std::vector<std::string> chosen_parts(const Settings& settings, const DatasetInput& input) {
  const auto& chosen = settings.texts("parts");
  if (chosen != automatic) return chosen;
  auto used = input.parts;
  if (used != everything) used.push_back(automatic.front());
  return used;
}

}  // namespace

DatasetEntry webdataset_entry() {
  std::vector<Key> keys{{"classes", Kind::integer, std::int64_t{0},
                         "number of classes; 0: as many as classes.txt beside local shards has lines (their names), or "
                         "else the largest label plus one",
                         0, static_cast<double>(max_classes)},
                        {"parts", Kind::texts, std::vector<std::string>{"auto"},
                         "files of a sample beside its image and label that are read, by what follows the first dot of "
                         "their names (\"txt\", \"seg.png\"): they are its parts; auto: those that [[field]] names; *: "
                         "all"},
                        split_names_key()};
  for (auto& key : remote_keys()) keys.push_back(std::move(key));
  return {
      .name = "webdataset",
      .help =
          "WebDataset tar shards read in place: images (jpg, png, webp) and their labels (NAME.cls), and other files "
          "of a sample as its parts (text: txt, json; arrays: npy; the part audio: flac, wav, ogg, opus, mp3), also "
          "without images. path: a "
          ".tar, a folder of them or shard-{000..127}.tar, local, https:// or s3://; split: a sub-folder or a "
          "pattern in the folder path; default: train, or val (else test) to validate, by their usual names in any "
          "case, of sub-folders or of shards",
      .keys = std::move(keys),
      .make = [](const Settings& settings, const DatasetInput& input) -> std::unique_ptr<Dataset> {
        const auto classes = settings.integer("classes");
        auto list = find_shards(settings, input.training);
        const bool named = classes == 0 && !is_remote(list.paths.front());
        auto names = named ? read_class_names(names_file(list.paths.front())) : std::vector<std::string>();
        auto shards = index_shards(list.paths, classes > 0 ? classes : max_classes, settings);
        return std::make_unique<WebDataset>(std::move(list), std::move(shards), classes, std::move(names),
                                            chosen_parts(settings, input));
      }};
}

}  // namespace flowtrain

// WebDataset: samples in tar shards (A. Aizman et al., "High Performance I/O For Large Scale Deep Learning", 2019),
// read in place. Files that follow each other and share their name up to its first dot are one sample.

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <exception>
#include <system_error>
#include <thread>

#include "sampling/datasets/entries.h"
#include "sampling/datasets/shards.h"
#include "sampling/files.h"
#include "sampling/tar.h"

namespace flowtrain {
namespace {

/// A label beyond this is taken for damage.
constexpr std::int64_t max_classes = 1 << 20;

/// Where a sample's picture lies.
struct Sample {
  std::uint64_t offset, size_bytes;
  std::int32_t label;  ///< -1: none
};

struct Shard {
  std::string path;
  Descriptor file;
  Names names = {};  ///< of the pictures
  std::vector<Sample> samples = {};
};

Shard open_shard(const std::string& path) {
  try {
    return {path, Descriptor::file(path.c_str())};
  } catch (const std::system_error& error) {
    const bool too_many = error.code() == std::errc::too_many_files_open;
    throw UserError(Exit::data, path + ": " + error.code().message(),
                    too_many ? "every shard stays open: raise the limit with ulimit -n" : "");
  }
}

/// Puts a shard's files together to samples.
class Indexer {
 public:
  /// Labels must be below `labels_end`.
  Indexer(Shard& shard, std::int64_t labels_end) : shard_(shard), labels_end_(labels_end) {}

  void run() {
    scan_tar(shard_.file, shard_.path, [this](const TarEntry& entry) { take(entry); });
    finish_sample();
    shard_.names.shrink_to_fit();
    shard_.samples.shrink_to_fit();
  }

 private:
  void take(const TarEntry& entry) {
    const auto base = entry.name.rfind('/') + 1;  // 0 where there is no slash
    const auto dot = entry.name.find('.', base);
    if (dot == entry.name.npos || dot == base) return;
    const auto key = entry.name.substr(0, dot), ending = entry.name.substr(dot + 1);
    if (key != key_) {
      finish_sample();
      key_ = key;
    }
    if (ending == "cls") {
      sample_.label = read_label(entry);
    } else if (picture_.empty() && ending.find('.') == ending.npos && is_picture(entry.name)) {
      picture_ = entry.name;
      sample_.offset = entry.offset;
      sample_.size_bytes = entry.size_bytes;
    }
  }

  /// Files without a picture among them are no sample.
  void finish_sample() {
    if (!picture_.empty()) {
      shard_.names.add(picture_);
      shard_.samples.push_back(sample_);
    }
    picture_.clear();
    sample_ = {0, 0, -1};
  }

  std::int32_t read_label(const TarEntry& entry) const {
    char digits[32];
    if (entry.size_bytes > sizeof(digits)) fail("its .cls is no integer");
    const auto got = shard_.file.read_at(entry.offset, std::as_writable_bytes(std::span(digits, entry.size_bytes)));
    const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
    const char* end = digits + got;
    const char* begin = std::find_if_not(const_cast<const char*>(digits), end, is_space);
    std::int64_t label = 0;
    const auto result = std::from_chars(begin, end, label);
    if (result.ec != std::errc() || !std::all_of(result.ptr, end, is_space)) fail("its .cls is no integer");
    if (label < 0 || label >= labels_end_)
      fail("label " + std::to_string(label) + " is not within 0 to " + std::to_string(labels_end_ - 1));
    return static_cast<std::int32_t>(label);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(Exit::data, shard_.path + ": sample '" + key_ + "': " + what);
  }

  Shard& shard_;
  std::int64_t labels_end_;
  std::string key_, picture_;
  Sample sample_{0, 0, -1};
};

/// Scans all shards. A cold header costs a disk access, so several are waited for at once.
std::vector<Shard> index_shards(const std::vector<std::string>& paths, std::int64_t labels_end) {
  std::vector<Shard> shards;
  for (const auto& path : paths) shards.push_back(open_shard(path));
  std::vector<std::exception_ptr> failures(shards.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < shards.size();) {
      try {
        Indexer(shards[i], labels_end).run();
      } catch (...) {
        failures[i] = std::current_exception();
        next = shards.size();  // those before it are under way: the first failure is the same each time
      }
    }
  };
  {
    std::vector<std::jthread> threads(std::min<std::size_t>(shards.size(), 8));
    for (auto& thread : threads) thread = std::jthread(work);
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return shards;
}

class WebDataset : public Dataset {
 public:
  /// `classes` 0: as many as the labels need.
  WebDataset(std::vector<Shard> shards, std::int64_t classes) : shards_(std::move(shards)), classes_(classes) {
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
                         ": no samples with a picture (.jpg, .jpeg, .png)");
    if (unlabelled && classes_ > 0)
      throw UserError(Exit::data, unlabelled->path + ": " + std::string(unlabelled->names[which]) +
                                      " has no .cls beside it, though the data set has classes");
  }

  std::uint64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const auto [shard, index] = locate(id);
    const auto& sample = shard.samples[index];
    try {
      read_exactly(shard.file, sample.offset, sample.size_bytes, buffer.bytes);
    } catch (const std::runtime_error& error) {
      throw SampleError(describe(id) + ": " + error.what());
    }
    return {.id = id, .encoding = Encoding::image, .bytes = buffer.bytes, .label = sample.label};
  }

  std::int64_t label(std::uint64_t id) const override {
    const auto [shard, index] = locate(id);
    return shard.samples[index].label;
  }

  std::vector<std::string> classes() const override {
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < classes_; ++i) names.push_back(std::to_string(i));
    return names;
  }

  std::string describe(std::uint64_t id) const override {
    const auto [shard, index] = locate(id);
    return shard.path + ":" + std::string(shard.names[index]);
  }

 private:
  struct Place {
    const Shard& shard;
    std::size_t index;
  };

  Place locate(std::uint64_t id) const {
    const auto at = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), id) - ends_.begin());
    return {shards_[at], id - (at == 0 ? 0 : ends_[at - 1])};
  }

  std::vector<Shard> shards_;
  std::vector<std::uint64_t> ends_;  ///< the id after each shard's last
  std::int64_t classes_;
};

}  // namespace

DatasetEntry webdataset_entry() {
  return {.name = "webdataset",
          .help = "WebDataset tar shards read in place: pictures (jpg, jpeg, png) and labels (cls). path: a .tar, a "
                  "folder of them or shard-{000..127}.tar; split: a sub-folder or a pattern in the folder path",
          .keys = {{"classes", Kind::integer, std::int64_t{0}, "number of classes; 0: the largest label and one", 0,
                    static_cast<double>(max_classes)}},
          .make = [](const Settings& settings, const DatasetInput& input) -> std::unique_ptr<Dataset> {
            const auto classes = settings.integer("classes");
            auto shards = index_shards(find_shards(settings, input.training), classes > 0 ? classes : max_classes);
            return std::make_unique<WebDataset>(std::move(shards), classes);
          }};
}

}  // namespace flowtrain

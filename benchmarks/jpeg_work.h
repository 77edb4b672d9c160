#pragma once
// The work of sampler `classify` on one JPEG, by the same functions, and its measuring: for programs without a line.

#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/images/crop.h"
#include "sampling/images/resize.h"
#include "sampling/images/stored_picture.h"
#include "sampling/io/files.h"

namespace flowtrain {

constexpr int side = 224, batch_pictures = 64;
constexpr std::size_t row_bytes = std::size_t{side} * side * 3;

/// The bytes of all pictures of a folder or a .tar archive. Throws UserError(data) where there are none.
inline std::vector<std::vector<std::byte>> load_pictures(const std::string& path) {
  const Files files(path);
  std::vector<std::vector<std::byte>> pictures;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (is_picture(files.name(i))) files.read(i, pictures.emplace_back());
  if (pictures.empty()) throw UserError(ExitCode::data, path + ": no pictures", "name a folder or a .tar of JPEGs");
  return pictures;
}

/// Decodes, cuts at random, resizes and mirrors every other one: (224, 224, 3) u8 into `out`. Throws SampleError.
inline void write_sample(std::span<const std::byte> file, Filter filter, Stream& random, std::uint8_t* out) {
  static constexpr std::array scale{0.08, 1.0}, ratio{3. / 4, 4. / 3};
  const Record record{.encoding = Encoding::image, .bytes = file};
  StoredPicture stored(record);
  const Rect part = draw_resized_crop(stored.height(), stored.width(), scale, ratio, random);
  const Window cut{static_cast<int>(part.x), static_cast<int>(part.y), static_cast<int>(part.height),
                   static_cast<int>(part.width)};
  const bool mirrored = random.uniform() < 0.5;
  const auto inside = stored.decode(part, cut, side, side);
  resize(inside.picture, inside.from, filter, mirrored, side, side, out);
}

/// (224, 224, 3) u8 to (3, 224, 224) f32, normalised with ImageNet's mean and deviation.
inline void normalise(const std::uint8_t* from, float* to) {
  static constexpr std::array mean{0.485F, 0.456F, 0.406F}, deviation{0.229F, 0.224F, 0.225F};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const float factor = 1 / (255 * deviation[channel]), shift = -mean[channel] / deviation[channel];
    for (std::size_t pixel = 0; pixel < row_bytes / 3; ++pixel)
      *to++ = static_cast<float>(from[pixel * 3 + channel]) * factor + shift;
  }
}

/// Counts from its construction on.
class Meter {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  /// Prints the values of `images` pictures made since the construction, as JSON.
  void print(std::uint64_t images) const {
    const double wall_s = seconds(), count = static_cast<double>(images);
    const rusage now = usage();
    std::printf("{\"images_per_s\": %.1f, \"cpu_s_per_1000\": %.4f, \"peak_rss_mb\": %.1f}\n", count / wall_s,
                (cpu_s(now) - cpu_s(before_)) / count * 1000, static_cast<double>(now.ru_maxrss) * 1024 / 1e6);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static rusage usage() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used;
  }
  static double in_s(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  static double cpu_s(const rusage& used) { return in_s(used.ru_utime) + in_s(used.ru_stime); }

  rusage before_ = usage();
  Clock::time_point begin_ = Clock::now();
};

/// The options of the command line.
struct JpegTask {
  std::string path;  ///< a folder or a .tar archive
  unsigned workers = 1;
  double seconds = 5;
  Filter filter = Filter::antialias;
  bool floats = false;  ///< normalised f32 instead of u8
};

/// The programs' main(): reads the command line, measures, reports errors; gives the exit code.
inline int run_jpeg_task(int argc, char** argv, void (*measure)(const JpegTask&)) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto word = [&](std::size_t i, const char* fallback) { return words.size() > i ? words[i] : fallback; };
  const int workers = std::atoi(word(1, "1").c_str());
  const double seconds = std::atof(word(2, "5").c_str());
  const auto filter = word(3, "antialias"), type = word(4, "u8");
  if (words.empty() || words.size() > 5 || workers < 1 || seconds <= 0 ||
      (filter != "antialias" && filter != "bilinear") || (type != "u8" && type != "f32")) {
    std::fprintf(stderr, "usage: %s FOLDER_OR_TAR [workers] [seconds] [antialias|bilinear] [u8|f32]\n", argv[0]);
    return static_cast<int>(ExitCode::usage);
  }
  try {
    measure({words[0], static_cast<unsigned>(workers), seconds,
             filter == "antialias" ? Filter::antialias : Filter::bilinear, type == "f32"});
    return 0;
  } catch (const std::exception& error) {  // no pictures, or one that cannot be decoded
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(ExitCode::data);
  }
}

}  // namespace flowtrain

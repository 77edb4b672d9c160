#include "sampling/audio/sound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "sampling/audio/libsndfile.h"
#include "sampling/audio/mp3.h"
#include "sampling/audio/ogg.h"
#include "sampling/audio/wav.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// Bytes in memory as a file.
class MemoryFile final : public ByteSource {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t size_bytes() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    const auto from = bytes_.subspan(std::min<std::uint64_t>(offset, bytes_.size()));
    const auto count = std::min(from.size(), into.size());
    if (count > 0) std::memcpy(into.data(), from.data(), count);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Returns the kind of a file by its first bytes, for messages. Throws SampleError if it is no kind that is read.
const char* kind_of_sound(const ByteSource& file) {
  std::array<char, 4> first{};
  const auto size = file.read_at(0, std::as_writable_bytes(std::span(first)));
  const std::string_view tag(first.data(), size);
  if (tag == "RIFF" || tag == "RF64") return "WAV";
  if (tag == "fLaC") return "FLAC";
  if (tag == "OggS") return "Ogg";
  if (tag.starts_with("ID3") || (tag.starts_with('\xff') && size > 1 && (first[1] & 0xe0) == 0xe0)) return "MP3";
  throw SampleError(size == 0 ? "the file is empty" : "it is no WAV, FLAC, Ogg or MP3 file");
}

// The bounds of recordings: kept forms have 34, 10 and 20 bits for them (sampling/datasets/sound_forms.cpp).
constexpr std::uint64_t most_frames = (std::uint64_t{1} << 34) - 1;  // libsndfile tells 2^63 - 1 for an unknown length
constexpr std::uint32_t most_channels = 1023, least_rate = 100, most_rate = 1'000'000;

void check_form(const SoundForm& form) {
  if (form.frames == 0) throw SampleError("the recording holds 0 frames");
  if (form.frames > most_frames)
    throw SampleError("it does not tell its length: it is cut off, or was written to a pipe (sox IN OUT mends that)");
  if (form.channels == 0 || form.channels > most_channels)
    throw SampleError(concat("the header tells of ", form.channels, " channels"));
  if (form.rate < least_rate || form.rate > most_rate)
    throw SampleError(concat("the header tells of ", form.rate, " frames a second"));
}

void check_size(std::uint64_t frames, std::uint32_t channels) {
  if (frames > max_sample_bytes / sizeof(float) / channels)
    throw SampleError(concat(frames, " frames of ", channels,
                             " channels are more than a sample may have (1 GiB): cut the recording into segments"));
}

/// A file with other bytes at its beginning: `beginning` in the place of the first `replaced_bytes`.
class RenewedFile final : public ByteSource {
 public:
  RenewedFile(const ByteSource& file, std::uint64_t replaced_bytes, std::vector<std::byte> beginning)
      : file_(&file), replaced_bytes_(replaced_bytes), beginning_(std::move(beginning)) {}

  std::uint64_t size_bytes() const override { return file_->size_bytes() - replaced_bytes_ + beginning_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    const auto own = MemoryFile(beginning_).read_at(offset, into);
    const auto rest = std::max<std::uint64_t>(offset, beginning_.size()) - beginning_.size();
    return own == into.size() ? own : own + file_->read_at(replaced_bytes_ + rest, into.subspan(own));
  }

 private:
  const ByteSource* file_;
  std::uint64_t replaced_bytes_;
  std::vector<std::byte> beginning_;
};

/// Returns a FLAC file whose header tells of one frame more, so that libsndfile looks for what follows the last one;
/// nothing if the header tells of none.
std::optional<RenewedFile> with_longer_flac(const ByteSource& file) {
  constexpr std::size_t type_at = 4, count_at = 21, count_end = 26;  // the number of frames has 36 bits
  constexpr std::byte no_count{0xf0}, any_type{0x7f};
  std::vector<std::byte> header(count_end);
  if (file.read_at(0, header) < count_end || (header[type_at] & any_type) != std::byte{}) return {};
  auto frames = std::to_integer<std::uint64_t>(header[count_at] & ~no_count);
  for (auto i = count_at + 1; i < count_end; ++i) frames = frames << 8 | std::to_integer<std::uint64_t>(header[i]);
  if (frames == 0 || frames > most_frames) return {};
  ++frames;
  for (auto i = count_end; --i > count_at; frames >>= 8) header[i] = static_cast<std::byte>(frames);
  header[count_at] = (header[count_at] & no_count) | static_cast<std::byte>(frames);
  return RenewedFile(file, count_end, std::move(header));
}

/// Throws SampleError if a second FLAC file follows the first one, behind whose end libsndfile reads nothing.
void check_flac_streams(std::span<const std::byte> file) {
  constexpr std::string_view tag = "fLaC";
  // The first block of metadata, with others behind it, or alone.
  constexpr std::string_view first_blocks[] = {{"\0\0\0\x22", 4}, {"\x80\0\0\x22", 4}};
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (auto at = text.find(tag, tag.size()); at != text.npos; at = text.find(tag, at + tag.size()))
    if (std::ranges::count(first_blocks, text.substr(at + tag.size(), 4)) > 0)
      throw SampleError(concat("at byte ", at, " a second FLAC stream follows, and only the first one would be read: ",
                               "write them as files of their own"));
}

/// The state of an open file for libsndfile, through whose C code no exception may pass.
struct VirtualFile {
  const ByteSource* source = nullptr;      ///< file that is read
  std::vector<std::byte>* into = nullptr;  ///< memory that is written instead
  sf_count_t position = 0;
  std::exception_ptr failure = nullptr;

  sf_count_t size() const { return static_cast<sf_count_t>(source ? source->size_bytes() : into->size()); }
};

VirtualFile& virtual_file(void* user) { return *static_cast<VirtualFile*>(user); }

SF_VIRTUAL_IO virtual_functions() {
  SF_VIRTUAL_IO functions{};
  functions.get_filelen = [](void* user) { return virtual_file(user).size(); };
  functions.tell = [](void* user) { return virtual_file(user).position; };
  functions.seek = [](sf_count_t offset, int whence, void* user) {
    auto& file = virtual_file(user);
    const auto from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.position : file.size();
    return file.position = std::clamp<sf_count_t>(from + offset, 0, file.size());
  };
  functions.read = [](void* bytes, sf_count_t count, void* user) -> sf_count_t {
    auto& file = virtual_file(user);
    try {
      const auto got = file.source->read_at(static_cast<std::uint64_t>(file.position),
                                            {static_cast<std::byte*>(bytes), static_cast<std::size_t>(count)});
      file.position += static_cast<sf_count_t>(got);
      return static_cast<sf_count_t>(got);
    } catch (...) {
      if (!file.failure) file.failure = std::current_exception();
      return 0;
    }
  };
  functions.write = [](const void* bytes, sf_count_t count, void* user) -> sf_count_t {
    auto& file = virtual_file(user);
    try {
      const auto end = static_cast<std::size_t>(file.position + count);
      if (file.into->size() < end) file.into->resize(end);
      std::memcpy(file.into->data() + file.position, bytes, static_cast<std::size_t>(count));
      file.position += count;
      return count;
    } catch (...) {
      if (!file.failure) file.failure = std::current_exception();
      return 0;
    }
  };
  return functions;
}

/// A recording that libsndfile decodes.
class DecodedFile {
 public:
  explicit DecodedFile(const ByteSource& source) : kind_(kind_of_sound(source)) {
    if (kind_ == "MP3" && !reads_mp3(library_.version_string()))
      throw UserError(ExitCode::data, concat(library_.version_string(), " reads no MP3 files"),
                      "install version 1.1 or newer, or convert the recordings to FLAC files");
    if (kind_ == "MP3") read_mp3_start(source);
    if (kind_ == "FLAC") renewed_ = with_longer_flac(source);
    file_.source = renewed_ ? &*renewed_ : &source;
    auto functions = virtual_functions();
    SF_INFO info{};
    handle_ = library_.open_virtual(&functions, SFM_READ, &info, &file_);
    if (file_.failure && handle_) library_.close(handle_);
    if (!handle_ || file_.failure) fail("the header cannot be read");  // strerror(nullptr) is shared by threads
    form_ = {info.frames < 0 ? 0 : static_cast<std::uint64_t>(info.frames), static_cast<std::uint32_t>(info.channels),
             static_cast<std::uint32_t>(info.samplerate)};
    if (kind_ == "FLAC" && renewed_) --form_.frames;
    can_seek_ = info.seekable != 0;
    try {
      check_form(form_);
    } catch (...) {
      library_.close(handle_);
      throw;
    }
  }
  ~DecodedFile() { library_.close(handle_); }
  DecodedFile(const DecodedFile&) = delete;
  DecodedFile& operator=(const DecodedFile&) = delete;

  const SoundForm& form() const { return form_; }

  void seek(std::uint64_t frame) {
    if (frame == 0) return;
    if (!can_seek_)
      throw SampleError(concat("the samples of this ", kind_,
                               " file can only be read whole, so it has no segments: convert it to a FLAC file",
                               " (ffmpeg -i IN OUT.flac)"));
    const auto at = library_.seek(handle_, static_cast<sf_count_t>(frame), SEEK_SET);
    if (at < 0 || file_.failure) fail(library_.strerror(handle_));
  }

  /// Replaces `into` by the next frames. Memory grows only with frames that are there, whatever the header tells.
  void read(std::uint64_t frames, std::vector<float>& into) {
    constexpr std::uint64_t block_frames = 1 << 14;
    check_size(frames, form_.channels);
    into.clear();
    for (std::uint64_t done = 0; done < frames;) {
      const auto block = std::min(block_frames, frames - done);
      into.resize((done + block) * form_.channels);
      const auto got =
          library_.readf_float(handle_, into.data() + done * form_.channels, static_cast<sf_count_t>(block));
      if (got != static_cast<sf_count_t>(block) || file_.failure)
        fail(concat("only ", done + static_cast<std::uint64_t>(std::max<sf_count_t>(got, 0)), " of ", frames,
                    " frames can be read",
                    library_.error(handle_) == SF_ERR_NO_ERROR ? "" : concat(": ", library_.strerror(handle_))));
      done += block;
    }
  }

  /// Throws SampleError if an MP3 file has more frames than its header tells of, for which all of it is read.
  void check_mp3_frames(const ByteSource& source) const {
    if (mp3_ && mp3_->is_read) count_mp3_frames(source, *mp3_);
  }

  /// Throws SampleError if frames follow those that were read, which are the last ones that the header tells of.
  void check_end() {
    if (kind_ != "FLAC" || !renewed_) return;
    std::vector<float> frame(form_.channels);
    if (library_.readf_float(handle_, frame.data(), 1) > 0 || file_.failure)
      fail(concat("more sound follows behind the ", form_.frames,
                  " frames that the header tells of: write the file anew (ffmpeg -i IN OUT.flac)"));
  }

 private:
  /// Finds the sound of an MP3 file, and makes a header of its length if libsndfile reads none.
  void read_mp3_start(const ByteSource& source) {
    mp3_ = mp3_start(source);
    if (mp3_ && !mp3_->is_read)
      renewed_.emplace(source, mp3_->first, mp3_header(*mp3_, count_mp3_frames(source, *mp3_)));
  }

  /// Throws the failure of a read, if there was one: libsndfile may go on with silence, or with less of the file.
  [[noreturn]] void fail(const std::string& what) const {
    if (file_.failure) std::rethrow_exception(file_.failure);
    throw SampleError(concat("damaged ", kind_, " file, for ", library_.version_string(), ": ", what));
  }

  std::string_view kind_;
  std::optional<Mp3Start> mp3_;  ///< the sound of an MP3 file whose frames can be counted
  std::optional<RenewedFile> renewed_;
  bool can_seek_ = true;
  const LibSndfile& library_ = libsndfile();
  VirtualFile file_;
  SNDFILE* handle_ = nullptr;
  SoundForm form_;
};

std::optional<WavLayout> checked_wav_layout(const ByteSource& file) {
  auto layout = wav_layout(file);
  if (layout) check_form(layout->form);
  return layout;
}

SoundForm form_of(const ByteSource& file) {
  if (const auto layout = checked_wav_layout(file)) return layout->form;
  return DecodedFile(file).form();
}

}  // namespace

SoundForm sound_form(std::span<const std::byte> file) { return form_of(MemoryFile(file)); }

SoundForm sound_form(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes) {
  const FileRange range(file, offset, size_bytes);
  return form_of(ScanWindow(range, 1 << 12, 1 << 20));
}

void decode_sound(std::span<const std::byte> file, Sound& into, Silence silence) {
  const MemoryFile source(file);
  if (const auto layout = checked_wav_layout(source)) {
    const auto& form = layout->form;
    check_size(form.frames, form.channels);
    decode_samples(*layout, file.subspan(layout->data_offset, form.frames * layout->frame_bytes()), into.samples);
    into.channels = form.channels;
    into.rate = form.rate;
  } else {
    const std::string_view kind = kind_of_sound(source);
    if (kind == "Ogg") check_ogg_pages(file);
    if (kind == "FLAC") check_flac_streams(file);
    DecodedFile decoded(source);
    decoded.check_mp3_frames(source);
    decoded.read(decoded.form().frames, into.samples);
    decoded.check_end();
    check_finite(into.samples, decoded.form().channels);
    into.channels = decoded.form().channels;
    into.rate = decoded.form().rate;
  }
  if (silence == Silence::refuse && std::ranges::all_of(into.samples, [&](float x) { return x == into.samples[0]; }))
    throw SampleError("the recording is silent: all its samples are equal");
}

FrameRange frames_between(const SoundForm& form, double begin, double end) {
  constexpr double allowed_seconds = 0.1;  // lists of segments are rounded, and encoders drop the last frames
  const auto rate = static_cast<double>(form.rate), frames = static_cast<double>(form.frames);
  const auto first = std::round(std::max(0.0, begin) * rate);
  const auto last = end < 0 ? frames : std::round(end * rate);
  const auto fail = [&](const char* what) {
    throw SampleError(
        concat("the segment from ", begin, " to ", end, " seconds ", what, ", which has ", frames / rate, " seconds"));
  };
  if (last > frames + allowed_seconds * rate) fail("ends behind the recording");
  if (!(first < std::min(last, frames))) fail("holds no frame of the recording");
  return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(std::min(last, frames) - first)};
}

void cut_sound(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes, double begin, double end,
               std::vector<std::byte>& into) {
  const FileRange range(file, offset, size_bytes);
  const ScanWindow window(range, 1 << 12, 1 << 20);
  if (auto layout = checked_wav_layout(window)) {
    const auto [first, frames] = frames_between(layout->form, begin, end);
    const auto from = layout->data_offset + first * layout->frame_bytes();
    layout->form.frames = frames;
    const auto header_bytes = begin_wav(*layout, into);
    return read_exactly(range, from, std::span(into).subspan(header_bytes, frames * layout->frame_bytes()));
  }
  DecodedFile decoded(window);
  const auto [first, frames] = frames_between(decoded.form(), begin, end);
  thread_local std::vector<float> samples;  // keeps its memory
  decoded.seek(first);
  decoded.read(frames, samples);
  if (first + frames == decoded.form().frames) decoded.check_end();
  const auto header_bytes =
      begin_wav({{frames, decoded.form().channels, decoded.form().rate}, true, sizeof(float), 0}, into);
  std::memcpy(into.data() + header_bytes, samples.data(), samples.size() * sizeof(float));
}

const char* sound_ending(std::span<const std::byte> file) {
  const std::string_view kind = kind_of_sound(MemoryFile(file));
  return kind == "WAV" ? "wav" : kind == "FLAC" ? "flac" : kind == "Ogg" ? "ogg" : "mp3";
}

void encode_wav(const Sound& sound, std::vector<std::byte>& into) {
  constexpr float full = 32768;
  const auto header_bytes = begin_wav({{sound.frames(), sound.channels, sound.rate}, false, 2, 0}, into);
  auto* to = into.data() + header_bytes;
  for (const float sample : sound.samples) {
    const auto level = static_cast<std::int16_t>(std::lrint(std::clamp(sample * full, -full, full - 1)));
    std::memcpy(to, &level, sizeof level);
    to += sizeof level;
  }
}

bool encode_flac(const Sound& sound, std::vector<std::byte>& into) {
  const auto fits = [&](float full) {
    return std::ranges::all_of(sound.samples, [&](float sample) {
      const float level = sample * full;
      return level == std::floor(level) && level >= -full && level < full;
    });
  };
  const int bits = fits(0x1p15f) ? 16 : fits(0x1p23f) ? 24 : 0;
  if (bits == 0 || sound.frames() == 0) return false;
  const auto& library = libsndfile();
  auto functions = virtual_functions();
  VirtualFile file{.into = &into};
  SF_INFO info{};
  info.samplerate = static_cast<int>(sound.rate);
  info.channels = static_cast<int>(sound.channels);
  info.format = SF_FORMAT_FLAC | (bits == 16 ? SF_FORMAT_PCM_16 : SF_FORMAT_PCM_24);
  into.clear();
  SNDFILE* const handle = library.open_virtual(&functions, SFM_WRITE, &info, &file);
  if (!handle) return false;
  std::vector<int> levels(sound.samples.size());
  std::ranges::transform(sound.samples, levels.begin(),
                         [](float sample) { return static_cast<int>(sample * 0x1p31f); });
  const auto written = library.writef_int(handle, levels.data(), static_cast<sf_count_t>(sound.frames()));
  library.close(handle);
  if (file.failure) std::rethrow_exception(file.failure);
  return written == static_cast<sf_count_t>(sound.frames());
}

}  // namespace flowtrain

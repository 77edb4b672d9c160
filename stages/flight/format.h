#pragma once
// The file of the flight recorder, flight/rank-R.bin of a run's folder. It has a fixed size and the byte order of its
// machine. Threads change only words of 64 bits during a run, so no reader sees half of one. A larger entry has its
// number before and behind it: a writer spoils both, writes the content, then the number before and the one behind. So
// a copy that was made from one end to the other is whole if both are equal.

#include <cstddef>
#include <cstdint>

namespace flowtrain::flight {

inline constexpr char magic[8] = {'F', 'T', 'F', 'L', 'I', 'G', 'H', 'T'};
inline constexpr std::uint64_t version = 1;
inline constexpr std::size_t most_places = 256, most_queues = 32, most_threads = 96;
inline constexpr std::size_t most_records = 208;  ///< number of each thread's last records that are kept
inline constexpr std::size_t most_depth = 8;      ///< depth of spans within spans
inline constexpr std::size_t text_words = 16;     ///< words for the name of a sample

/// The kind of work that a thread does in a place.
enum class Kind : std::uint64_t {
  work,
  loads,      ///< loads a batch
  waits,      ///< waits for a batch
  collective  ///< works with the other ranks
};

/// The way a process ended, if it could say so.
enum class End : std::uint64_t { none, ended, failed };

/// The state of a thread's slot. Another thread may take the slot of an ended one.
enum class SlotState : std::uint64_t { unused, used, ended };

/// `Word` is std::uint64_t or the atomic of it; all structures are alike. Times are in nanoseconds of the monotonic
/// clock unless their name says otherwise. Texts end with a zero unless they fill their place.
template <class Word>
struct Header {
  char magic[8];  ///< written last
  Word version, file_bytes;
  Word rank, world, pid;
  Word boot;                   ///< a hash of the machine's boot id: the clocks of equal ones can be compared
  Word started_ns, wall_ns;    ///< one instant, by the monotonic and by the wall clock
  Word alive_ns;               ///< written twice a second while the process runs
  Word end, exit_code;         ///< End; exit code of a failed process
  Word places, queues;         ///< numbers of places and queues
  Word threads_without_place;  ///< threads that found all slots taken
  Word locked_inode;           ///< inode of the file that the process keeps locked while it lives; 0: no locks
  char host[64], message[256];
};

template <class Word>
struct Place {
  Word kind;  ///< Kind
  char text[56];
};

template <class Word>
struct Queue {
  Word fill, capacity;
  char text[48];
};

/// A place where a thread is.
template <class Word>
struct Open {
  Word place, begin_ns, iteration, number;
};

template <class Word>
struct Thread {
  Word changes;  ///< number of the last change of `open`; all bits: it changes
  Word depth;    ///< valid entries of `open`
  Open<Word> open[most_depth];
  Word changes_again;            ///< repeats that number; 0: it changes
  Word state, id, recorded;      ///< SlotState; the system's id; records so far
  Word sample, sample_since_ns;  ///< sample that it works on, and its start (to within 10 ms)
  Word sample_span_ns;           ///< begin of the place in which it works on the sample
  Word text_sample;              ///< sample that `text` names; all bits: none
  char name[16];
  Word text[text_words];
};

/// A place where a thread was.
template <class Word>
struct Record {
  Word sequence;  ///< number from 1; record n is at n % most_records; 0: it is being written
  Word begin_ns, end_ns, iteration, number;
  Word tail;  ///< place in bits 0 to 15, depth in bits 16 to 31, the lower half of `sequence` above
};

template <class Word>
struct File {
  Header<Word> header;
  Place<Word> places[most_places];  ///< the first entry is unused
  Queue<Word> queues[most_queues];
  Thread<Word> threads[most_threads];  ///< the first thread computes
  Record<Word> records[most_threads][most_records];
};

constexpr std::uint64_t tail_of(std::uint64_t sequence, std::uint64_t place, std::uint64_t depth) {
  return sequence << 32 | depth << 16 | place;
}

}  // namespace flowtrain::flight

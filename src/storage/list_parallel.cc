#include "storage/list_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "storage/key_cursor.h"
#include "storage/list_checks.h"

namespace assay::storage {
namespace {

Status PagesStatus(ObjectStore& store, const ListOptions& options, const Status& why) {
  return Status::Io(
      fmt::format("cannot list {}: {} (check the endpoint and the proxy)", store.Uri(options.prefix), why.message()));
}

// Follows the pages of one listing.
class PageWalk {
 public:
  // What `page` is held against, and the token that `options` ask with next.
  Status Take(ListPage& page, ListOptions& options) {
    ASSAY_RETURN_IF_ERROR(TakePrefixes(page.prefixes));
    if (!page.objects.empty()) {
      if (page.objects.front().key <= last_) {
        return ContradictoryList("a page begins with '" + Escaped(page.objects.front().key) + "', which lies before '" +
                                 Escaped(last_) + "' of the page before it");
      }
      last_ = page.objects.back().key;
      tokens_.Progress();
    }
    options.page_token = page.next_page_token;
    return page.next_page_token.empty() ? Status::Ok() : tokens_.Take(page.next_page_token);
  }

 private:
  // One whose keys go on in the next page may be named there again: it is left out.
  Status TakePrefixes(std::vector<std::string>& prefixes) {
    if (!prefixes.empty() && prefixes.front() == last_prefix_) {
      prefixes.erase(prefixes.begin());
    }
    if (prefixes.empty()) {
      return Status::Ok();
    }
    if (prefixes.front() < last_prefix_) {
      return ContradictoryList("a page rolls up '" + Escaped(prefixes.front()) + "', which lies before '" +
                               Escaped(last_prefix_) + "' of the page before it");
    }
    last_prefix_ = prefixes.back();
    tokens_.Progress();
    return Status::Ok();
  }

  std::string last_;
  std::string last_prefix_;
  PageTokens tokens_;
};

// Keys behind `after` and before `end`, and the pages that came of them.
struct Range {
  std::string after;
  std::string end;       // empty: that of the listing
  std::string position;  // the last key listed; `after` before the first page
  std::deque<ListPage> pages;
  bool claimed = false;
  bool more = true;  // keys may follow
  // Once a page: what nobody has seen keys of is not cut further, so bad guesses never outnumber pages.
  bool can_split = false;
};

class ParallelListing {
 public:
  ParallelListing(ObjectStore& store, const ListOptions& options, ListPage first)
      : store_(store), options_(options), upper_(EndOfPrefix(options.prefix)) {
    if (!options.end_before.empty() && (upper_.empty() || options.end_before < upper_)) {
      upper_ = options.end_before;
    }
    Range& range = ranges_.emplace_back();
    range.after = first.objects.empty() ? options.start_after : first.objects.back().key;
    range.position = range.after;
    range.can_split = true;
    Learn(first);
  }

  Status Run(int workers, bool ordered, const std::function<Status(ListPage)>& sink) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back([this] { Work(); });
    }
    const Status status = Deliver(ordered, sink);
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    return status;
  }

 private:
  // Hands over pages until the last range is through.
  Status Deliver(bool ordered, const std::function<Status(ListPage)>& sink) {
    std::unique_lock lock(mutex_);
    while (!ranges_.empty()) {
      auto next = ranges_.begin();
      changed_.wait(lock, [&] {
        const auto has_news = [](const Range& range) { return !range.pages.empty() || !range.more; };
        next = ordered ? ranges_.begin() : std::find_if(ranges_.begin(), ranges_.end(), has_news);
        return !error_.ok() || (next != ranges_.end() && has_news(*next));
      });
      ASSAY_RETURN_IF_ERROR(error_);
      if (next->pages.empty()) {
        ranges_.erase(next);
        changed_.notify_all();
        continue;
      }
      ListPage page = std::move(next->pages.front());
      next->pages.pop_front();
      --waiting_;
      changed_.notify_all();
      lock.unlock();
      ASSAY_RETURN_IF_ERROR(sink(std::move(page)));
      lock.lock();
    }
    return Status::Ok();
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      Range* range = nullptr;
      changed_.wait(lock, [&] { return stopped_ || !error_.ok() || IsThrough() || (range = Claim()) != nullptr; });
      if (range == nullptr) {
        return;
      }
      ListRange(*range, lock);
      changed_.notify_all();
    }
  }

  bool IsThrough() const {
    return std::none_of(ranges_.begin(), ranges_.end(), [](const Range& range) { return range.more; });
  }

  // A range that nobody lists yet, or half of one that somebody does.
  Range* Claim() {
    Range* victim = nullptr;
    for (Range& range : ranges_) {
      if (range.more && !range.claimed) {
        range.claimed = true;
        return &range;
      }
      if (range.more && range.can_split && victim == nullptr) {
        victim = &range;
      }
    }
    return victim == nullptr ? nullptr : Split(*victim);
  }

  Range* Split(Range& victim) {
    const auto middle = KeyBetween(victim.position, victim.end.empty() ? upper_ : victim.end, alphabet_);
    victim.can_split = false;
    if (!middle.has_value()) {
      return Claim();
    }
    const auto at = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& range) { return &range == &victim; });
    Range& upper = *ranges_.emplace(std::next(at));
    // Both halves leave the middle itself out, were it a key: it belongs to the lower one, whose end is behind it.
    upper.after = *middle;
    upper.position = upper.after;
    upper.end = victim.end;
    upper.claimed = true;
    victim.end = *middle + '\0';
    return &upper;
  }

  void ListRange(Range& range, std::unique_lock<std::mutex>& lock) {
    ListOptions ask = options_;
    ask.start_after = range.after;
    ask.end_before = range.end.empty() ? options_.end_before : range.end;
    PageWalk walk;
    while (range.more && AwaitRoom(range, lock)) {
      lock.unlock();
      auto page = store_.List(ask);
      Status status = page.ok() ? walk.Take(*page, ask) : page.status();
      if (page.ok() && !status.ok()) {
        status = PagesStatus(store_, options_, status);
      }
      lock.lock();
      if (!status.ok()) {
        error_ = status;
        return;
      }
      Take(range, *std::move(page));
      changed_.notify_all();
    }
  }

  // The range that is given now may have a few pages whatever the others hold: those wait for it. False at the end.
  bool AwaitRoom(const Range& range, std::unique_lock<std::mutex>& lock) {
    constexpr size_t kMostOfTheFirst = 8;
    changed_.wait(lock, [&] {
      const bool first = !ranges_.empty() && &ranges_.front() == &range;
      return stopped_ || !error_.ok() || waiting_ < kMostWaitingPages ||
             (first && range.pages.size() < kMostOfTheFirst);
    });
    return !stopped_ && error_.ok();
  }

  // The range's end may have come nearer while the page was on its way.
  void Take(Range& range, ListPage page) {
    const auto behind = [&](const ObjectInfo& info) { return !range.end.empty() && info.key >= range.end; };
    const bool reached = std::erase_if(page.objects, behind) > 0;
    range.more = !page.next_page_token.empty() && !reached;
    page.next_page_token.clear();
    if (!page.objects.empty()) {
      Learn(page);
      range.position = page.objects.back().key;
      range.can_split = range.more;
      range.pages.push_back(std::move(page));
      ++waiting_;
    }
  }

  // A few keys of each page tell which bytes keys are made of.
  void Learn(const ListPage& page) {
    const size_t step = std::max<size_t>(1, page.objects.size() / 16);
    for (size_t i = 0; i < page.objects.size(); i += step) {
      for (const char byte : page.objects[i].key.substr(options_.prefix.size())) {
        if (byte > ' ' && byte < '\x7F') {
          alphabet_.set(static_cast<size_t>(byte));
        }
      }
    }
  }

  ObjectStore& store_;
  const ListOptions options_;
  std::string upper_;  // no key of the listing lies there or behind; empty: unknown

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. In the order of keys; a list, because workers keep pointers to what they claimed.
  std::list<Range> ranges_;
  int waiting_ = 0;  // pages of all ranges
  std::bitset<128> alphabet_;
  Status error_;
  bool stopped_ = false;
};

Status ListInOrder(ObjectStore& store, ListOptions options, const std::function<Status(ListPage)>& sink) {
  PageWalk walk;
  do {
    ASSAY_ASSIGN_OR_RETURN(ListPage page, store.List(options));
    if (const Status status = walk.Take(page, options); !status.ok()) {
      return PagesStatus(store, options, status);
    }
    page.next_page_token.clear();
    ASSAY_RETURN_IF_ERROR(sink(std::move(page)));
  } while (!options.page_token.empty());
  return Status::Ok();
}

// Reads keys as numbers whose digits are the places of their bytes in the alphabet, 0 standing for their end.
class KeyNumbers {
 public:
  explicit KeyNumbers(const std::bitset<128>& alphabet) {
    for (size_t byte = 0; byte < alphabet.size(); ++byte) {
      if (alphabet.test(byte)) {
        bytes_ += static_cast<char>(byte);
      }
    }
  }

  using Number = unsigned __int128;

  Number Read(std::string_view text) const {
    Number number = 0;
    for (size_t i = 0; i < kDigits; ++i) {
      number = number * base() + (i < text.size() ? DigitOf(text[i]) : 0);
    }
    return number;
  }
  Number Largest() const {
    Number number = 0;
    for (size_t i = 0; i < kDigits; ++i) {
      number = number * base() + bytes_.size();
    }
    return number;
  }
  std::string Write(Number number) const {
    std::string text;
    for (size_t i = 0; i < kDigits; ++i, number /= base()) {
      const auto digit = static_cast<size_t>(number % base());
      // What stands behind the end of a text does not count.
      text = digit == 0 ? std::string() : bytes_[digit - 1] + text;
    }
    return text;
  }

 private:
  // 97^9 and more fits into 128 bits.
  static constexpr size_t kDigits = 12;

  Number base() const { return bytes_.size() + 1; }
  Number DigitOf(char byte) const {
    const auto at = std::upper_bound(bytes_.begin(), bytes_.end(), byte, [](char a, char b) {
      return static_cast<unsigned char>(a) < static_cast<unsigned char>(b);
    });
    return static_cast<Number>(at - bytes_.begin());
  }

  std::string bytes_;
};

}  // namespace

std::optional<std::string> KeyBetween(const std::string& low, const std::string& high,
                                      const std::bitset<128>& alphabet) {
  if (alphabet.none()) {
    return std::nullopt;
  }
  auto same = static_cast<size_t>(std::mismatch(low.begin(), low.end(), high.begin(), high.end()).first - low.begin());
  // Never between the bytes of one character of UTF-8.
  while (same > 0 && same < low.size() && (static_cast<unsigned char>(low[same]) & 0xC0) == 0x80) {
    --same;
  }
  const KeyNumbers numbers(alphabet);
  const auto first = numbers.Read(std::string_view(low).substr(same));
  const auto last = high.empty() ? numbers.Largest() : numbers.Read(std::string_view(high).substr(same));
  if (last <= first) {
    return std::nullopt;
  }
  std::string middle = low.substr(0, same) + numbers.Write(first + (last - first) / 2);
  const bool between = middle > low && (high.empty() || middle < high);
  return between ? std::optional(std::move(middle)) : std::nullopt;
}

namespace {

// Leaves the first `most` names of both kinds, in the order of all.
void CutPage(int64_t most, ListPage& page) {
  while (std::ssize(page.objects) + std::ssize(page.prefixes) > most) {
    const bool object_is_last =
        page.prefixes.empty() || (!page.objects.empty() && page.objects.back().key > page.prefixes.back());
    if (object_is_last) {
      page.objects.pop_back();
    } else {
      page.prefixes.pop_back();
    }
  }
}

Status ListAll(ObjectStore& store, const ListOptions& options, const ParallelListOptions& parallel,
               const std::function<Status(ListPage page)>& sink) {
  if (!options.delimiter.empty() || parallel.workers <= 1) {
    return ListInOrder(store, options, sink);
  }
  ASSAY_ASSIGN_OR_RETURN(ListPage first, store.List(options));
  if (std::exchange(first.next_page_token, "").empty()) {
    return sink(std::move(first));
  }
  ParallelListing listing(store, options, first);
  ASSAY_RETURN_IF_ERROR(sink(std::move(first)));
  return listing.Run(parallel.workers, parallel.ordered, sink);
}

}  // namespace

Status ListInParallel(ObjectStore& store, const ListOptions& options, const ParallelListOptions& parallel,
                      const std::function<Status(ListPage page)>& sink) {
  if (parallel.most_objects <= 0) {
    return ListAll(store, options, parallel, sink);
  }
  ListOptions ask = options;
  ask.max_keys = static_cast<int>(std::min<int64_t>(ask.max_keys, parallel.most_objects));
  int64_t left = parallel.most_objects;
  bool enough = false;
  const Status status = ListAll(store, ask, parallel, [&](ListPage page) {
    CutPage(left, page);
    left -= std::ssize(page.objects) + std::ssize(page.prefixes);
    ASSAY_RETURN_IF_ERROR(sink(std::move(page)));
    enough = left <= 0;
    return enough ? Status::Aborted("") : Status::Ok();  // which ends the listing
  });
  return enough ? Status::Ok() : status;
}

}  // namespace assay::storage

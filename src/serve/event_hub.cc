#include "serve/event_hub.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace assay::serve {
namespace {

/// What stands behind `origin` and a dash; 0 for ids of others.
int64_t NumberOf(std::string_view id, std::string_view origin) {
  if (!id.starts_with(origin) || id.size() < origin.size() + 2 || id[origin.size()] != '-') {
    return 0;
  }
  const std::string_view digits = id.substr(origin.size() + 1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

}  // namespace

EventHub::EventHub(size_t most_listeners) : most_listeners_(most_listeners), origin_(RandomUid().substr(0, 8)) {}

std::string EventHub::Event(const std::string& name, const Told& told) const {
  return fmt::format("id: {}-{}\nevent: {}\ndata: {}\n\n", origin_, told.number, name, told.data);
}

void EventHub::Send(std::string_view text) {
  std::erase_if(listeners_, [&](const auto& stream) { return !stream->Write(text); });
}

void EventHub::Tell(const std::string& name, std::string_view data) {
  const std::lock_guard lock(mutex_);
  Told& told = told_[name];
  if (told.number != 0 && told.data == data) {
    return;
  }
  told = {.number = ++last_number_, .data = std::string(data)};
  Send(Event(name, told));
}

bool EventHub::Listen(std::shared_ptr<http::ResponseStream> stream, std::string_view last_event_id) {
  const std::lock_guard lock(mutex_);
  if (listeners_.size() >= most_listeners_) {
    return false;
  }
  const int64_t known = NumberOf(last_event_id, origin_);
  std::string text = "retry: 1000\n\n";
  std::map<int64_t, std::string> missed;
  for (const auto& [name, told] : told_) {
    if (told.number > known) {
      missed.emplace(told.number, Event(name, told));
    }
  }
  for (const auto& [number, event] : missed) {
    text += event;
  }
  if (stream->Write(text)) {
    listeners_.push_back(std::move(stream));
  }
  return true;
}

void EventHub::Beat() {
  const std::lock_guard lock(mutex_);
  Send("event: beat\ndata: {}\n\n");
}

void EventHub::Close() {
  const std::lock_guard lock(mutex_);
  for (const auto& stream : listeners_) {
    stream->Close();
  }
  listeners_.clear();
}

}  // namespace assay::serve

#include "data/chat_template.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace assay::data {
namespace {

using nlohmann::json;

constexpr char kTemplateKey[] = "chat_template";
constexpr const char* kTokenKeys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                      "pad_token", "cls_token", "mask_token"};
constexpr int kPollMilliseconds = 100;
constexpr char kAdvice[] = "pip install jinja2, or name a Python that has it with ASSAY_PYTHON";

Result<json> ReadObject(const std::string& path) {
  if (!FileExists(path)) {
    return json::object();
  }
  ASSAY_ASSIGN_OR_RETURN(json object, ReadJsonFile(path));
  return object.is_object() ? object : json::object();
}

/// A template, or a list of them with names.
std::string TemplateIn(const json& config) {
  const json found = config.value(kTemplateKey, json());
  if (found.is_string()) {
    return found.get<std::string>();
  }
  for (const json& named : found.is_array() ? found : json::array()) {
    if (named.is_object() && named.value("name", json()) == "default" && named.value("template", json()).is_string()) {
      return named["template"].get<std::string>();
    }
  }
  return "";
}

/// The special tokens as templates name them.
json VariablesIn(const json& config) {
  json variables = json::object();
  for (const char* key : kTokenKeys) {
    const json value = config.value(key, json());
    const json text = value.is_object() ? value.value("content", json()) : value;
    if (text.is_string()) {
      variables[key] = text;
    }
  }
  return variables;
}

}  // namespace

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::Open(const std::string& folder) {
  std::string source = folder + "/tokenizer_config.json";
  ASSAY_ASSIGN_OR_RETURN(json config, ReadObject(source));
  std::string text = TemplateIn(config);
  if (config.empty()) {
    ASSAY_ASSIGN_OR_RETURN(config, ReadObject(folder + "/special_tokens_map.json"));
  }
  if (const std::string file = folder + "/chat_template.jinja"; FileExists(file)) {
    source = file;
    ASSAY_ASSIGN_OR_RETURN(text, ReadFile(file));
  }
  if (text.empty()) {
    return std::shared_ptr<const ChatTemplate>();
  }
  const json request = {{"template", text}, {"variables", VariablesIn(config)}};
  return std::make_shared<const ChatTemplate>(std::move(source), DumpJson(request) + "\n");
}

Result<json> ChatTemplate::AskAbout(const std::vector<Message>& messages, bool add_generation_prompt) const {
  json turns = json::array();
  for (const Message& message : messages) {
    turns.push_back({{"role", message.role}, {"content", message.content}});
  }
  const std::lock_guard lock(mutex_);
  if (!process_) {
    ASSAY_RETURN_IF_ERROR(Start());
  }
  return Ask(DumpJson({{"messages", turns}, {"add_generation_prompt", add_generation_prompt}}) + "\n");
}

Result<std::string> ChatTemplate::RenderPrompt(const std::vector<Message>& messages) const {
  ASSAY_ASSIGN_OR_RETURN(const json reply, AskAbout(messages, /*add_generation_prompt=*/true));
  std::string text;
  ASSAY_RETURN_IF_ERROR(ReadField(reply, "text", text));
  return text;
}

Result<ChatText> ChatTemplate::Render(const std::vector<Message>& messages) const {
  ASSAY_ASSIGN_OR_RETURN(const json reply, AskAbout(messages, /*add_generation_prompt=*/false));
  ChatText chat;
  ASSAY_RETURN_IF_ERROR(ReadField(reply, "text", chat.text));
  for (const json& range : reply.value("answers", json::array())) {
    const auto begin = range.at(0).get<size_t>();
    const auto end = range.at(1).get<size_t>();
    chat.answers.push_back({std::min(begin, chat.text.size()), std::min(end, chat.text.size())});
  }
  return chat;
}

Status ChatTemplate::Start() const {
  SubprocessOptions options;
  options.argv = {ShareDirectory() + "/chat/render"};
  options.channel = true;
  ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(std::move(options)));
  process_.emplace(std::move(process));
  const Status ready = Ask(request_).status();
  if (!ready.ok()) {
    process_.reset();
  }
  return ready;
}

Result<json> ChatTemplate::Ask(const std::string& line) const {
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent =
        RetryOnSignal([&] { return ::send(process_->channel().get(), rest.data(), rest.size(), MSG_NOSIGNAL); });
    if (sent < 0) {
      break;  // whoever is gone answers nothing
    }
    rest.remove_prefix(static_cast<size_t>(sent));
  }
  const Result<std::string> answer = ReadLine();
  if (!answer.ok()) {
    process_.reset();
    return answer.status();
  }
  ASSAY_ASSIGN_OR_RETURN(json reply, ParseJson(*answer, "what renders chat templates"));
  if (reply.contains("lacks")) {
    return Status::FailedPrecondition(
        fmt::format("chat templates are rendered by jinja2: {} ({})", reply.value("lacks", ""), kAdvice));
  }
  if (reply.contains("error")) {
    return Status::InvalidArgument(fmt::format("the chat template in {}: {}", source_, reply.value("error", "")));
  }
  return reply;
}

Result<std::string> ChatTemplate::ReadLine() const {
  const double begin = MonotonicSeconds();
  const int channel = process_->channel().get();
  std::string line;
  while (!line.ends_with('\n')) {
    if (InterruptRequested()) {
      return Status::Aborted("interrupted");
    }
    if (MonotonicSeconds() - begin > kTimeLimitSeconds) {
      return Status::InvalidArgument(fmt::format(
          "the chat template in {} did not end within {} s: it may loop without end", source_, kTimeLimitSeconds));
    }
    pollfd ready{.fd = channel, .events = POLLIN, .revents = 0};
    if (RetryOnSignal([&] { return ::poll(&ready, 1, kPollMilliseconds); }) == 0) {
      continue;
    }
    char part[1 << 16];
    const ssize_t received = RetryOnSignal([&] { return ::read(channel, part, sizeof part); });
    if (received <= 0) {
      ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, process_->Wait());
      return end.exited && (end.exit_code == 126 || end.exit_code == 127)
                 ? Status::FailedPrecondition(fmt::format("chat templates are rendered by jinja2: {}", kAdvice))
                 : Status::Io(fmt::format("what renders the chat template in {} ended: {}", source_, end.Describe()));
    }
    line.append(part, static_cast<size_t>(received));
  }
  return line;
}

}  // namespace assay::data

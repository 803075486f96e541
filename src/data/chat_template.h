// Conversations as the text that a tokeniser's own chat template makes of them, rendered by jinja2 in a process of its
// own (share/chat/render.py), as transformers does.
//
// Process and program talk over a socket, a JSON object a line. The first request is {"template", "variables"},
// answered by {"ready"}; each other one {"messages", "add_generation_prompt"}, answered by {"text", "answers": [[begin,
// end]]}, in bytes of the text, or of a text that an answer is to follow by {"text"}. Any may be answered by {"error"},
// of the template, or {"lacks"}, what is not installed.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/subprocess.h"
#include "data/rows.h"

namespace assay::data {

/// What a conversation is to a model.
struct ChatText {
  struct Span {
    size_t begin;
    size_t end;
  };
  std::string text;
  std::vector<Span> answers;  ///< bytes of `text` to learn from: what the assistant says, with what ends its turn
};

/// Safe to use from several threads, one of which renders at a time. The process starts with the first conversation.
class ChatTemplate {
 public:
  /// That of a tokeniser's folder: its chat_template.jinja, else the chat_template of its tokenizer_config.json, of
  /// several that of the name "default". Null where it has none.
  static Result<std::shared_ptr<const ChatTemplate>> Open(const std::string& folder);

  /// As apply_chat_template() without tools. Answers are what stands in {% generation %} blocks of the template; where
  /// it has none what each turn of the assistant adds to the text of those before it, without white space at its end.
  /// Fails with one line: what the template itself refuses, an error of it, a rendering that takes longer than
  /// kTimeLimitSeconds, an assistant's turn whose text later turns change, a Python without jinja2.
  Result<ChatText> Render(const std::vector<Message>& messages) const;

  /// The text of the turns so far with the prompt for an answer (add_generation_prompt).
  Result<std::string> RenderPrompt(const std::vector<Message>& messages) const;

  static constexpr double kTimeLimitSeconds = 10;

  /// For Open().
  ChatTemplate(std::string source, std::string request) : source_(std::move(source)), request_(std::move(request)) {}

 private:
  Result<nlohmann::json> AskAbout(const std::vector<Message>& messages, bool add_generation_prompt) const;
  Result<nlohmann::json> Ask(const std::string& line) const;
  Status Start() const;
  Result<std::string> ReadLine() const;

  std::string source_;   ///< the file, for errors
  std::string request_;  ///< that the process gets first
  mutable std::mutex mutex_;
  mutable std::optional<Subprocess> process_;  ///< none before the first conversation and after a failure
};

}  // namespace assay::data

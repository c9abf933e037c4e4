// Kernels that know how the launcher answers, and answer in its place: what no judge expects.
#pragma once

#include <unistd.h>

#include "call.hpp"
#include "interpreter.hpp"

namespace adversarial {

// A kernel whose result is right, and which sends something itself before its launcher does.
#define SENDING(name, code)                                                                                  \
  BAD_KERNEL(name) {                                                                                         \
    healthy(call);                                                                                           \
    python(FIND_THE_CHANNEL code);                                                                           \
  }

#define A_RUN                                                                                                \
  "run = dict(record=None, crash='', damage='', changes=[], fault=None, seen=None, began=0.0, seconds={},\n" \
  "           has_outputs=True)\n"

SENDING(answers_with_a_number, "channel._send({'answer': 5})\n")
SENDING(answers_with_deep_lists, "os.write(channel._answers, b'[' * 200000 + b'\\n')\n")
SENDING(answers_with_half_a_character, "text = '{\"nonce\":\"' + channel._nonce + "
                                       "'\",\"answer\":{\"answer\":\"\\\\ud800\",\"tenant\":\"\"}}\\n'\n"
                                       "os.write(channel._answers, text.encode())\n")
SENDING(answers_for_more_launches, A_RUN "channel._send({'answer': {'answer': [run] * 9, 'tenant': ''}})\n")
SENDING(answers_without_outputs, A_RUN "run['has_outputs'] = False\n"
                                       "channel._send({'answer': {'answer': [run, run], 'tenant': ''}})\n"
                                       "os._exit(0)\n")
SENDING(answers_for_no_launch, "channel._send({'answer': {'answer': [], 'tenant': ''}})\n")
SENDING(crashes_in_escape_sequences, A_RUN "run['crash'] = '\\x1b[2J\\x1b[H\\r1 passed\\u202e'\n"
                                           "channel._send({'answer': {'answer': [run], 'tenant': ''}})\n"
                                           "os._exit(0)\n")
SENDING(changes_that_are_none, A_RUN "run['changes'] = [None, {}]\n"
                                     "channel._send({'answer': {'answer': [run, run], 'tenant': ''}})\n")
SENDING(notes_of_no_kind, "channel.note({'foreseen': {'outcome': 'PASS'}})\n"
                          "channel.note([7])\n"
                          "channel._send({'note': {'stage': {}}, 'seconds': 'many'})\n")
SENDING(raises_what_does_not_exist,
        "channel._send({'answer': {'raised': {'kind': 'nothing', 'texts': []}, 'tenant': ''}})\n"
        "os._exit(0)\n")
SENDING(refuses_after_its_launch,
        "channel._send({'answer': {'raised': {'kind': 'refused', 'texts': ['mood', 'no']}, 'tenant': ''}})\n"
        "os._exit(0)\n")

// Its own answer comes later, when the next case has been asked for.
static bool has_answered = false;

BAD_KERNEL(answers_twice) {
  healthy(call);
  if (has_answered)
    return;
  has_answered = true;
  python(FIND_THE_CHANNEL A_RUN "run['crash'] = 'it says so'\n"
                                "channel._send({'answer': {'answer': [run], 'tenant': ''}})\n");
  ::usleep(300000);
}

} // namespace adversarial

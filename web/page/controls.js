// What one can ask a run for: a checkpoint now, to stop, to go on.

import { el, text } from './dom.js';
import { post, runPath } from './api.js';

// controls are the buttons of a run. know tells what the server can do, show the state of the run.
export function controls(name) {
  const said = el('span', { class: 'said', role: 'status' });
  let can = {};
  let run = null;
  const button = (label, className, ask, act) => {
    const b = el('button', { type: 'button', class: className, hidden: true }, label);
    let timer = 0;
    const calm = () => { clearTimeout(timer); delete b.dataset.sure; text(b, label); };
    b.addEventListener('click', async () => {
      if (ask && !b.dataset.sure) {
        b.dataset.sure = 'yes';
        text(b, ask);
        timer = setTimeout(calm, 6000);
        return;
      }
      calm();
      b.disabled = true;
      try {
        await post(runPath(name, `/${act}`));
        text(said, { checkpoint: 'checkpoint requested', stop: 'stop requested', resume: 'resumed' }[act]);
      } catch (error) {
        text(said, error.message);
      }
      b.disabled = false;
    });
    return b;
  };
  const checkpoint = button('Checkpoint now', '', '', 'checkpoint');
  const stop = button('Stop', 'danger', 'Write a checkpoint and stop?', 'stop');
  const resume = button('Resume', '', '', 'resume');
  const update = () => {
    const running = run?.state === 'running';
    checkpoint.hidden = !(can.can_checkpoint && running && run.live);
    stop.hidden = !(can.can_stop && running && run.live);
    resume.hidden = !(can.can_resume && run && ['interrupted', 'failed', 'lost'].includes(run.state));
  };
  return {
    node: el('div', { class: 'controls' }, said, checkpoint, resume, stop),
    know(about) { can = about; update(); },
    show(r) {
      if (run && run.state !== r.state) text(said, '');
      run = r;
      update();
    },
  };
}

// The question that a panel asks first, as ./lockstep predict does for programs. One click skips it.
'use strict';

(function () {
  const {el} = Lockstep.ui;

  // Asks above everything else, or below the element `below`, and then says what is true.
  //   when, text  "Before you press Play:", and the question
  //   truth()     {value, sentence}, computed by the panel's functions when somebody answers or asks to be shown
  //   choices     [[value, text], ...]; without them the answer is a number: of `unit`, right up to the share `tolerance`
  function ask({when, text, truth, choices = null, unit = '', tolerance = 0, below = null}) {
    const said = el('p', {class: 'message', id: 'question-said', role: 'status', tabindex: -1});
    const button = (id, name, press, look = null) => el('button', {type: 'button', id, class: look, onclick: press}, name);
    const field = el('input', {type: 'number', id: 'question-answer', step: 'any', min: 0, inputmode: 'decimal', 'aria-labelledby': 'question-text'});

    function show(verdict, {sentence}, isRight) {
      said.textContent = `${verdict}${sentence}`;
      said.classList.toggle('good', isRight);
      form.hidden = true;
      said.focus();
    }

    const choose = (value, name) => {
      const fact = truth(), isRight = value === fact.value;
      show(isRight ? 'Right. ' : `You said “${name}”. No: `, fact, isRight);
    };

    function submit(event) {
      event.preventDefault();
      field.toggleAttribute('aria-invalid', false);
      if (choices || !field.checkValidity() || field.value === '') {
        field.setAttribute('aria-invalid', 'true');
        field.focus();
        return;
      }
      const answer = Number(field.value), fact = truth(), isRight = Math.abs(answer - fact.value) <= tolerance * Math.abs(fact.value);
      show(isRight ? 'Right. ' : `You said ${answer}. `, fact, isRight);
    }

    function skip() {
      box.remove();
      document.querySelector('main input, main select, main button')?.focus();
    }

    const answers = choices ? choices.map(([value, name]) => button(`question-${value}`, name, () => choose(value, name))) :
        [field, unit ? el('span', {class: 'unit'}, unit) : null, el('button', {type: 'submit', id: 'question-submit', class: 'primary'}, 'Answer')];
    const form = el('form', {class: 'buttons', novalidate: true, onsubmit: submit}, answers,
        button('question-show', 'Show me', () => show('', truth(), false)), button('question-skip', 'Skip', skip));
    const box = el('section', {class: 'question card', id: 'question', 'aria-labelledby': 'question-text'},
        el('p', {id: 'question-text'}, el('strong', {}, when), ` ${text}`), form, said);
    if (below) below.after(box);
    else document.querySelector('main').prepend(box);
  }

  Lockstep.question = {ask};
})();

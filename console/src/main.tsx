import { createRoot } from 'react-dom/client';
import { Console } from './app/console.tsx';
import './style.css';

createRoot(document.getElementById('console')!).render(<Console />);

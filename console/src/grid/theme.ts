/** Settings of all grids. */
import { AllCommunityModule, ModuleRegistry, themeQuartz } from 'ag-grid-community';

ModuleRegistry.registerModules([AllCommunityModule]);

/** The colours of the page (style.css), light or dark. */
export const theme = themeQuartz.withParams({
  browserColorScheme: 'inherit',
  backgroundColor: 'var(--paper)',
  foregroundColor: 'var(--ink)',
  accentColor: 'var(--accent)',
  borderColor: 'var(--line)',
  chromeBackgroundColor: 'var(--raised)',
  fontFamily: 'inherit',
  fontSize: 14,
  headerFontSize: 13,
  rowHeight: 34,
  headerHeight: 46,
  wrapperBorder: false,
  wrapperBorderRadius: 0,
  spacing: 6,
});
